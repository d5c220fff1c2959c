"""Table 2: CUB-200-2011, 200 species of birds, 1600 codes."""

from dataclasses import replace

from poolwise.reproduction.cells import Cell, Svm, kmeans, pca, pdl
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.parts import PartRow
from poolwise.reproduction.published import CUB200_OTHERS
from poolwise.reproduction.results import NOTHING, Results, accuracy_of, percent, table

_KMEANS, _PDL = kmeans("cub200", 1600), pdl("cub200", 1600, 3200)
_PLAIN, _PCA, _WHOLE = replace(_PDL, projection=None), pca("cub200", 1600, 3200), kmeans("cub200", 3200)
_ROWS = {
    "K-means, 1600 codes": _KMEANS,
    "PDL, 1600 of 3200": _PDL,
    "the same without projection": _PLAIN,
    "PDL, SVM stopped after 100 rounds": replace(_PDL, svm="100 rounds"),
    "1600 random ones of 3200, with projection": replace(_PDL, selection="random"),
    "PCA, 1600 directions of 3200": _PCA,
    "K-means, all 3200 codes": _WHOLE,
}
_BY_GAMMA = {"K-means, 1600 codes": _KMEANS, "1600 of 3200, no projection": _PLAIN, "1600 of 3200, projection": _PDL}
_SVMS: dict[Svm, str] = {"converged": "γ = 0.005 %", "16 γ": "γ = 0.08 %", "64 γ": "γ = 0.32 %"}
_WORDS = PartRow("birds", "bag of SIFT, χ² map", 1600, dataset="cub200-once", whole="sift-bow", chi2=True)
_DEFAULT = PartRow("birds", "default", 1600, dataset="cub200-once", whole="default")


def _part(results: Results, row: PartRow) -> list[str]:
    """Accuracy, difference from what the paper quotes, runs and seconds."""
    found = results.store.finding(row.key(0, results.quick))
    if found is None:
        return [NOTHING, NOTHING, "0", NOTHING]
    more = f"{100 * found['accuracy'] - CUB200_OTHERS['bag of SIFT']:+.2f}" if row is _WORDS and not results.quick else NOTHING
    return [accuracy_of([found]), more, "1", f"{found['seconds']:,.0f}"]


def _cells() -> list[Cell]:
    return [*_ROWS.values(), *(replace(cell, svm=svm) for cell in _BY_GAMMA.values() for svm in _SVMS)]


def _section(results: Results) -> str:
    rows = [] if results.quick else [[name, f"{value:.2f}", NOTHING, NOTHING, "", ""] for name, value in CUB200_OTHERS.items()]
    if rows:
        rows[0] = [*rows[0][:2], *_part(results, _WORDS)]
    for name, cell in _ROWS.items():
        found = results.of(cell)
        rows.append([
            name,
            percent(results.paper(cell)),
            results.text(cell),
            results.difference(cell),
            f"{found.runs}" if found else "0",
            f"{found.total_seconds:,.0f}" if found else NOTHING,
        ])  # fmt: skip
    rows.append(["the defaults of PooledFeatures, 1600 codes", NOTHING, *_part(results, _DEFAULT)])
    by_gamma = [[name, *(results.text(replace(cell, svm=svm)) for svm in _SVMS)] for name, cell in _BY_GAMMA.items()]
    return f"""{table(["", "paper %", "ours %", "difference", "runs", "seconds"], rows)}

Percent of the 5,794 test images that are given the right one of 200 species. Crops of 1.5 times the box at 128×128, training
images mirrored, 5×5 patches, maximum over a grid of 4×4. The first three rows are others' results as the paper quotes them.
Next to the first is the preset `sift-bow` with 1600 words, a χ² map and γ by `LinearSVMCV()`. The last row is
`PooledFeatures(1600)` with `LinearSVMCV()`. These two have no mirrored training images and chose γ on training images alone.

The same features with a larger γ:

{table(["", *_SVMS.values()], by_gamma)}
{_conclusion(results)}"""


def _conclusion(results: Results) -> str:
    """Why ours differs, as soon as all that it needs is known."""
    asked = [_KMEANS, _PDL, _PLAIN, _PCA, _WHOLE, *(replace(cell, svm="64 γ") for cell in (_KMEANS, _PDL))]
    means = [found.mean for cell in asked if (found := results.of(cell))]
    if len(means) < len(asked) or results.quick:
        return ""
    base, chosen, plain, bound, whole, held_base, held = means
    return f"""
**The gap to the paper.** γ = 0.005, which suits the 50,000 images of CIFAR-10, is too small for 200 classes of 60 images, and
hurts projected features most: {chosen - plain:+.2f} against the same codes without projection. With γ = 0.32 PDL has
{held:.2f}, where the paper has {percent(results.paper(_PDL))}; but K-means then has {held_base:.2f}, so no single γ gives
both of the paper's figures. The paper does not say which it took here. Accuracy still rises at 0.32, the largest tried.

**PDL gains nothing over K-means here**, whichever γ. There is little to gain: PCA, the bound, is {bound - base:+.2f} from
K-means, and all 3200 codes are worth {whole - base:+.2f}. The paper's own gain of 0.74 comes from one run, while the standard
error of an accuracy of 38 % on 5,794 images is 0.64.
"""


TABLE2_BIRDS = Experiment(
    "table2-birds", "Table 2: CUB-200-2011, 1600 codes", _section, _cells, parts=(_WORDS, _DEFAULT), runs=1
)
