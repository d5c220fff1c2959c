"""The published settings, constant by constant."""

from typing import Any

from poolwise.method.descriptors import Patches, Sift
from poolwise.method.dictionaries import KMeans, RandomCodes
from poolwise.method.encoders import Nearest, Threshold
from poolwise.method.pooling import Pool
from poolwise.method.scale import Standardize
from poolwise.method.whitening import ZCA

_PLAIN: dict[str, Any] = {
    "n_candidates": None,
    "selection": "affinity",
    "projection": "nystrom",
    "symmetry": None,
    "bands": "auto",
    "statistics": False,
    "nodata": None,
    "n_patches": 400_000,
}
PRESETS: dict[str, dict[str, Any]] = {
    # Jia, Vinyals, Darrell: "Pooling-Invariant Image Feature Learning", 2012.
    "jia2012": {
        "descriptor": Patches(size=6, stride=1, contrast="std", offset=10.0),
        "whitening": ZCA("std", offset=0.1),
        "dictionary": KMeans("kmeans", init="patches", max_iter=100, tol=1e-4),
        "encoder": Threshold(alpha=0.25, two_sided=False),
        "pooling": Pool("average", grid=2),
        "scale": Standardize("shared", offset=0.01),
        **_PLAIN,
    },
    # Coates and Ng: "The Importance of Encoding Versus Training with Sparse Coding and Vector Quantization", 2011.
    "coates2011": {
        "descriptor": Patches(size=6, stride=1, contrast="variance", offset=10.0),
        "whitening": ZCA("variance", offset=0.1),
        "dictionary": KMeans("omp1", init="noise", max_iter=50, tol=0.0),
        "encoder": Threshold(alpha=0.25, two_sided=True),
        "pooling": Pool("sum", grid=2),
        "scale": Standardize("cell", offset=0.01),
        **_PLAIN,
    },
    # Rolf and others: "A Generalizable and Accessible Approach to Machine Learning with Global Satellite Imagery", 2021.
    "mosaiks": {
        "descriptor": Patches(size=3, stride=1, contrast=None, offset=0.0),
        "whitening": ZCA("variance", offset=0.1),
        "dictionary": RandomCodes("patches"),
        "encoder": Threshold(alpha=1.0, two_sided=True),
        "pooling": Pool("average", grid=1),
        "scale": Standardize("shared", offset=0.01),
        **_PLAIN,
    },
    # Lazebnik, Schmid and Ponce: "Beyond Bags of Features", 2006; what Table 2 of the paper calls BoW. A χ² map follows it.
    "sift-bow": {
        "descriptor": Sift(bins=4, stride=2, flatness=1.0, root=False),
        "whitening": None,
        "dictionary": KMeans("centroids", init="patches", max_iter=100, tol=1e-4),
        "encoder": Nearest(),
        "pooling": Pool("average", grid=[1, 2, 4]),
        "scale": None,
        **_PLAIN,
    },
}
