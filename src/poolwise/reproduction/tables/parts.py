"""Parts: every encoder, descriptor, dictionary and pooling, and two layers, next to the paper's own setting."""

import statistics
from typing import Any

from poolwise.method.descriptors import Hog, Patches, Sift
from poolwise.method.dictionaries import ConvolutionalKMeans, OnlineDictionary
from poolwise.method.encoders import LLC, OMP, Lasso, Linear, Nearest, Threshold, Triangle
from poolwise.method.pooling import MaxProducts, Pool, SecondOrder
from poolwise.method.whitening import ZCA
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.parts import PartRow
from poolwise.reproduction.results import NOTHING, Results, accuracy_of, table

_CANDIDATES = 400
_ONE_SIDE = Threshold(0.25, two_sided=False)
_ROOT = SecondOrder(2)
_SIFT, _HOG = Sift(bins=3, stride=1), Hog(cell=4, stride=1)

_ENCODERS: dict[str, dict[str, Any]] = {
    "threshold": {"encoder": _ONE_SIDE},
    "triangle": {"encoder": Triangle()},
    "nearest": {"encoder": Nearest()},
    "llc": {"encoder": LLC(two_sided=True)},
    "omp": {"encoder": OMP(4)},
    "lasso": {"encoder": Lasso(1.0)},
    "sift, threshold": {"descriptor": _SIFT, "encoder": _ONE_SIDE},
    "hog, threshold": {"descriptor": _HOG, "encoder": _ONE_SIDE},
}
# chosen by folds of the 10,000 training images among offsets 1 to 400 and α 0.03 to 0.3; maps have a spread of 40
_WEAKLY_WHITENED = {
    "descriptor": Patches(2, contrast=None), "whitening": ZCA(offset=120.0), "encoder": Threshold(0.1, two_sided=False)
}  # fmt: skip
ENCODERS = tuple(
    PartRow("encoders", name, candidates=candidates, parts=parts, runs=3)
    for name, parts in _ENCODERS.items()
    for candidates in (None, _CANDIDATES)
)
OTHERS = (
    PartRow("dictionaries", "convolutional K-means", parts={"dictionary": ConvolutionalKMeans(3)}),
    PartRow("dictionaries", "online learning, lasso", parts={"dictionary": OnlineDictionary(), "encoder": Lasso(1.0)}),
    PartRow("poolings", "average, root", parts={"pooling": Pool("average", 2, root=True)}),
    PartRow("poolings", "average and max", parts={"pooling": Pool("both", 2)}),
    *(PartRow("poolings", "second order", K, parts={"pooling": _ROOT}) for K in (50, 100, 200)),
    PartRow("poolings", "largest products", 50, parts={"pooling": MaxProducts(2)}),
    PartRow("poolings", "second order of whitened patches", 100,
            parts={"pooling": _ROOT, "encoder": Linear(), "dictionary": "axes"}),
    PartRow("poolings", "second order of codes of SIFT", 100, parts={"pooling": _ROOT, "descriptor": _SIFT}),
    PartRow("poolings", "second order of SIFT", 100,
            parts={"pooling": _ROOT, "descriptor": _SIFT, "encoder": Linear(), "dictionary": "axes"}),
    PartRow("layers", "one layer", 400),
    PartRow("layers", "one layer", 500, runs=3),
    PartRow("layers", "two layers", second={}),
    PartRow("layers", "two layers, 2×2 cells, no contrast, weakly whitened", 100, second=_WEAKLY_WHITENED, second_codes=400,
            runs=3),
    PartRow("layers", "two layers, selected", candidates=_CANDIDATES, second={}),
    PartRow("layers", "two layers, second order of the second", 100, second={"pooling": _ROOT}),
)  # fmt: skip
ROWS = (*ENCODERS, *OTHERS)


def _runs(results: Results, row: PartRow) -> list[dict[str, Any]]:
    found = [results.store.finding(row.key(seed, results.quick)) for seed in range(10)]
    return [run for run in found if run is not None]


def _cost(runs: list[dict[str, Any]]) -> list[str]:
    if not runs:
        return [NOTHING, NOTHING]
    return [f"{runs[0]['features']:,}", f"{statistics.mean(run['ms'] for run in runs):.2f}"]


def _section(results: Results) -> str:
    encoders = []
    for plain, chosen in zip(ENCODERS[::2], ENCODERS[1::2], strict=True):
        of_kmeans, of_pdl = _runs(results, plain), _runs(results, chosen)
        encoders.append([plain.name, accuracy_of(of_kmeans), accuracy_of(of_pdl), *_cost(of_kmeans), f"{len(of_kmeans)}"])
    others = []
    for row in OTHERS:
        runs = _runs(results, row)
        way = "" if row.candidates is None else f" of {row.candidates}"
        layers = f" + {row.second_codes or row.K}" if row.second is not None else ""
        others.append([row.group, row.name, f"{row.K}{way}{layers}", accuracy_of(runs), *_cost(runs)])
    return f"""With 200 codes, K-means against 200 chosen from {_CANDIDATES} by affinity and projected, as the paper has it:

{table(["encoder", "K-means %", "chosen %", "features", "ms", "runs"], encoders)}

Other parts, in place of the paper's or on top of them:

{table(["", "part", "codes", "%", "features", "ms"], others)}

Percent of 5,000 images of CIFAR-10 that were held out, 10,000 others to learn from; the preset `jia2012` (2×2 cells, average)
with 100,000 patches and 50 rounds of K-means, and the part named. γ by `LinearSVMCV()` on the training images. `llc`, `omp` and
`lasso` have two outputs a code. Milliseconds are of one image on two cores, often next to other work. SIFT has bins of 3
pixels, HOG cells of 4, both at every pixel. A second layer has patches of 3×3 cells of 9×9 maps, unless others are named, and
features of both.
"""


PARTS = Experiment("parts", "Parts: every encoder, descriptor and pooling", _section, parts=ROWS, runs=3)
