"""The paper's figure of two pairs of codes: hardly correlated before pooling, highly after."""

from typing import Any

import numpy as np

from poolwise.report import code_mosaic
from poolwise.report.draw.look import COLOURS, panels
from poolwise.reproduction.anatomy import anatomy_name, unpack_codes
from poolwise.reproduction.experiment import Experiment, Pictures
from poolwise.reproduction.results import Results, table

VARIANT = "6×6 average"
_SAID = {"moved": "one is the other, moved", "colour": "alike in shape, different in colour"}


def _section(results: Results) -> str:
    found = results.store.finding(anatomy_name(VARIANT, 0, results.quick))
    if not found:
        return ""
    rows = [[_SAID[pair["kind"]], f"{pair['before']:+.3f}", f"{pair['after']:+.3f}"] for pair in found["pairs"]]
    return f"""![Two pairs of codes and their responses](fig-pairs.png)

{table(["two codes", "ρ before pooling", "ρ after pooling"], rows)}

Of all pairs of {found["M"]:,} codes with ρ below 0.1 before pooling, those with the largest ρ after it: among codes that a
shift of up to three pixels makes alike, and among codes that no shift makes alike in colour but one does in grey.
"""


def _pictures(results: Results) -> Pictures:
    found = results.store.finding(anatomy_name(VARIANT, 0, results.quick))
    return {"fig-pairs.png": _draw(found)} if found and found["pairs"] else {}


def _draw(found: dict[str, Any]) -> Any:
    figure, axs = panels(3 * len(found["pairs"]), (4.6 * len(found["pairs"]) + 2.6, 2.9))
    for n, pair in enumerate(found["pairs"]):
        picture, *scatters = axs[3 * n : 3 * n + 3]
        h, w, c = found["patch"]
        picture.imshow(code_mosaic(unpack_codes(pair["pixels"], found["patch"]), (h, w, c), columns=1, zoom=16, gap=8))
        picture.axis("off")
        picture.set_title(f"({'ab'[n % 2]}) {_SAID[pair['kind']]}", fontsize=9, loc="left")
        for ax, when, colour in zip(scatters, ("before", "after"), COLOURS, strict=False):
            points = np.array(pair[f"points {when}"])
            ax.plot(points[:, 0], points[:, 1], ".", ms=3.5, alpha=0.5, color=colour, mew=0)
            ax.set_title(f"{when} pooling, ρ = {pair[when]:.2f}", fontsize=9)
            ax.set_xlabel("upper code / σ", fontsize=8)
            ax.set_ylabel("lower code / σ", fontsize=8)
            ax.tick_params(labelsize=7)
            ax.set_box_aspect(1)
    return figure


FIG_PAIRS = Experiment(
    "fig-pairs", "Two pairs of codes that pooling makes alike", _section, variants=(VARIANT,), pictures=_pictures, runs=1
)
