"""Makes a frozen sample of the model file's format: `python tests/golden/make.py`. It never replaces one that is there.

NUMBER-KIND.safetensors is the model, NUMBER-KIND.json what it gives for `images()`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from settings import paper_features

HERE = Path(__file__).parent


def images() -> np.ndarray:
    """By formula, so that no generator of random numbers has to stay as it is: (12, 8, 8, 1)."""
    i, y, x = np.ogrid[:12, :8, :8]
    return ((i * i * 37 + y * y * (i + 3) * 5 + x * x * (2 * y + 1) * 7 + x * y * i) % 256).astype(np.uint8)[..., None]


def labels() -> np.ndarray:
    """(12,) words."""
    return np.array(["elm", "oak", "yew"])[np.arange(12) % 3]


def models() -> dict[str, Any]:
    """A fitted model of each kind."""
    from sklearn.pipeline import make_pipeline

    from poolwise import ZCA, KMeans, LinearSVM, LinearSVMCV, Patches, Pool, SecondOrder, Threshold

    parts: dict[str, Any] = {"descriptor": Patches(3), "dictionary": KMeans(max_iter=10), "n_patches": 300, "random_state": 0}
    two_sided = Threshold(0.25, two_sided=True)
    features = paper_features(3, 6, encoder=two_sided, pooling=Pool("average", grid=[1, 2]), **parts)
    few = paper_features(2, pooling=Pool("average", grid=1), **parts)
    triangle = paper_features(3, 6, encoder="triangle", pooling=Pool("max", grid=[1, (1, 2)]), scale="cell", **parts)
    second = paper_features(3, 6, whitening=ZCA(rank=4), pooling=SecondOrder([1, (1, 2)]), symmetry="mirror", **parts)
    directions = paper_features(4, pooling=SecondOrder(1, directions=5), **parts)
    supervised = paper_features(3, 6, encoder=Threshold((0.25, 1.0), two_sided=False), selection="supervised", **parts)
    return {
        "features": features.fit(images()),
        "pipeline": make_pipeline(clone(features), LinearSVM(0.01, class_weight={"elm": 2.0})).fit(images(), labels()),
        "searched": make_pipeline(few, LinearSVMCV([0.01, 0.1], cv=3)).fit(images(), labels()),
        "triangle": triangle.fit(images()),
        "slim": paper_features(3, 6, encoder=two_sided, projection="pca", **parts).fit(images()),
        "second": second.fit(images()),
        "supervised": supervised.fit(images(), labels()),
        "statistics": paper_features(3, 6, statistics=True, symmetry="mirror", **parts).fit(images()),
        "directions": make_pipeline(directions, LinearSVMCV([0.01, 0.1], cv=3)).fit(images(), labels()),
    }


def oracle(model: Any) -> dict[str, Any]:
    """What it must still give."""
    first = model[0] if hasattr(model, "steps") else model
    given = {"selected": first.selected_.tolist(), "features": np.round(first.transform(images()).astype(float), 6).tolist()}
    if first is not model:
        given |= {"margins": np.round(model.decision_function(images()).astype(float), 6).tolist()}
        given |= {"labels": model.predict(images()).tolist()}
        if hasattr(model[-1], "slope_"):
            given |= {"probabilities": np.round(model.predict_proba(images()), 6).tolist()}
    return given


def main() -> None:
    from poolwise import save
    from poolwise.modelfile import FORMAT

    for kind, model in models().items():
        path = HERE / f"{FORMAT}-{kind}.safetensors"
        if path.exists():
            print(f"{path} is frozen: raise FORMAT first, see poolwise.modelfile")
            continue
        save(model, path, provenance={"images": len(images()), "note": "tests/golden/make.py"}, slim=kind == "slim")
        path.with_suffix(".json").write_text(json.dumps(oracle(model)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
