"""The paper's figure of the codes: 256 of 3200, and clusters as columns."""

from typing import Any

import numpy as np

from poolwise.report import cluster_mosaic, code_mosaic
from poolwise.reproduction.anatomy import anatomy_name, unpack_codes
from poolwise.reproduction.experiment import Experiment, Pictures
from poolwise.reproduction.figures.pairs import VARIANT
from poolwise.reproduction.results import Results


def _section(results: Results) -> str:
    found = results.store.finding(anatomy_name(VARIANT, 0, results.quick))
    if not found:
        return ""
    return f"""![{found["K"]} codes of {found["M"]:,}](fig-codes.png)
![Clusters as columns](fig-clusters.png)

First the {found["K"]} codes kept of {found["M"]:,}, ordered so that neighbours respond alike. Then some of the clusters, from
the largest to the median one: each column is a code that was kept, and below it codes that it represents, the most correlated
after pooling first. Most are the same edge moved; some differ in colour.
"""


def _pictures(results: Results) -> Pictures:
    found = results.store.finding(anatomy_name(VARIANT, 0, results.quick))
    return {"fig-codes.png": _codes(found), "fig-clusters.png": _clusters(found)} if found else {}


def _codes(found: dict[str, Any]) -> Any:
    h, w, c = found["patch"]
    return code_mosaic(unpack_codes(found["codes"], found["patch"]), (h, w, c), zoom=6, gap=3)


def _clusters(found: dict[str, Any]) -> Any:
    h, w, c = found["patch"]
    columns = [unpack_codes(column, found["patch"]) for column in found["columns"]]
    starts = np.cumsum([0, *(len(column) for column in columns)])
    cluster = np.repeat(starts[:-1], [len(column) for column in columns])
    closeness = -np.arange(starts[-1], dtype=np.float64)
    return cluster_mosaic(np.concatenate(columns), cluster, (h, w, c), closeness=closeness, most=12, zoom=6, gap=3)


FIG_CODES = Experiment(
    "fig-codes", "256 of 3200 codes, and their clusters", _section, variants=(VARIANT,), pictures=_pictures, runs=1
)
