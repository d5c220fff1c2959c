"""The published settings, constant by constant."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # Jia, Vinyals, Darrell: "Pooling-Invariant Image Feature Learning", 2012.
    "jia2012": {
        "patch_size": 6,
        "stride": 1,
        "contrast": "std",
        "contrast_offset": 10.0,
        "whitening": "std",
        "whitening_offset": 0.1,
        "dictionary": "kmeans",
        "init": "patches",
        "n_patches": 400_000,
        "max_iter": 100,
        "tol": 1e-4,
        "encoder": "threshold",
        "alpha": 0.25,
        "two_sided": False,
        "pool": "average",
        "grid": 2,
        "scale": "shared",
        "scale_offset": 0.01,
    },
    # Coates and Ng: "The Importance of Encoding Versus Training with Sparse Coding and Vector Quantization", 2011.
    "coates2011": {
        "patch_size": 6,
        "stride": 1,
        "contrast": "variance",
        "contrast_offset": 10.0,
        "whitening": "variance",
        "whitening_offset": 0.1,
        "dictionary": "omp1",
        "init": "noise",
        "n_patches": 400_000,
        "max_iter": 50,
        "tol": 0.0,
        "encoder": "threshold",
        "alpha": 0.25,
        "two_sided": True,
        "pool": "sum",
        "grid": 2,
        "scale": "cell",
        "scale_offset": 0.01,
    },
}
