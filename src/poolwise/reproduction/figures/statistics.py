"""The paper's figure of responses: before and after pooling, within clusters and between exemplars; and the spectra."""

from typing import TYPE_CHECKING, Any

import numpy as np

from poolwise.report.draw.look import COLOURS, panels
from poolwise.reproduction.anatomy import VARIANTS, anatomy_name
from poolwise.reproduction.experiment import Experiment, Pictures
from poolwise.reproduction.published import RHO
from poolwise.reproduction.results import NOTHING, Results, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = {
    "before": "before pooling, same cluster",
    "after": "after pooling, same cluster",
    "exemplars": "after pooling, between exemplars",
}


def _section(results: Results) -> str:
    found = {variant: results.store.finding(anatomy_name(variant, 0, results.quick)) for variant in VARIANTS}
    rows = [
        [name, f"{RHO[key]:.3f}", *(f"{one['rho'][key]:.3f}" if one else NOTHING for one in found.values())]
        for key, name in _ROWS.items()
    ]
    pictures = "\n".join(f"![Responses and spectra, {variant}]({_file(variant)})" for variant, one in found.items() if one)
    unexplained = "; ".join(f"{100 * one['unexplained']:.1f} % ({variant})" for variant, one in found.items() if one)
    sizes = next((f"{one['K']} of {one['M']:,}" for one in found.values() if one), "256 of 3,200")
    return f"""{pictures}

Correlation ρ of two codes' responses, the mean over all pairs; {sizes} codes on CIFAR-10:

{table(["ρ", "paper", *(f"ours, {variant}" for variant in VARIANTS)], rows)}

The paper's plot was made with 8×8 patches and maximum pooling; its tables with 6×6 and average. Dots are responses of random
pairs in random samples, in units of each code's standard deviation. Variance that the exemplars leave unexplained:
{unexplained}.
"""


def _pictures(results: Results) -> Pictures:
    found = {variant: results.store.finding(anatomy_name(variant, 0, results.quick)) for variant in VARIANTS}
    return {_file(variant): _draw(one, variant) for variant, one in found.items() if one}


def _file(variant: str) -> str:
    return f"fig-statistics-{variant.replace('×', 'x').replace(' ', '-')}.png"


def _draw(one: dict[str, Any], variant: str) -> "Figure":
    figure, axs = panels(4, (13.6, 3.6))
    for ax, colour, letter, (key, name) in zip(axs, COLOURS, "abc", _ROWS.items(), strict=False):
        points = np.array(one["scatter"][key]).reshape(-1, 2)
        ax.plot(points[:, 0], points[:, 1], ".", ms=3, alpha=0.45, color=colour, mew=0, rasterized=True)
        low, high = np.percentile(points, (0.3, 99.7)) if len(points) else (0.0, 1.0)
        margin = 0.05 * (high - low)
        ax.set_xlim(low - margin, high + margin)
        ax.set_ylim(low - margin, high + margin)
        ax.set_aspect("equal")
        ax.set_title(f"({letter}) {name}\nρ = {one['rho'][key]:.3f}", fontsize=10)
        ax.set_xlabel("response of one code / σ")
        ax.set_ylabel("response of the other / σ")
    ax = axs[3]
    for colour, label, values in (
        (COLOURS[0], f"C, all {one['M']:,} codes", one["spectrum"]),
        (COLOURS[1], f"Nyström, {one['K']} codes", one["approximation"]),
    ):
        kept = [value for value in values if value > 0]
        ax.plot(np.arange(1, len(kept) + 1), kept, color=colour, lw=1.6, label=label, ls="-" if colour == COLOURS[0] else "--")
    ax.set_yscale("log")
    ax.set_xlabel("number of the eigenvalue")
    ax.set_ylabel("eigenvalue")
    ax.set_title(f"(d) spectra, {100 * one['unexplained']:.1f} %\nof the variance unexplained", fontsize=10)
    ax.legend(frameon=False)
    figure.suptitle(f"CIFAR-10, {variant.replace(' ', ' patches, ')} pooling", fontsize=11)
    return figure


FIG_STATISTICS = Experiment(
    "fig-statistics",
    "Responses before and after pooling, and spectra",
    _section,
    variants=tuple(VARIANTS),
    pictures=_pictures,
    runs=1,
)
