"""Makes a frozen sample of the model file's format: `python tests/golden/make.py`. It never replaces one that is there.

NUMBER-KIND.safetensors is the model, NUMBER-KIND.json the features that it gives for `images()`.
"""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def images() -> np.ndarray:
    """By formula, so that no generator of random numbers has to stay as it is: (12, 8, 8, 1)."""
    i, y, x = np.ogrid[:12, :8, :8]
    return ((i * i * 37 + y * y * (i + 3) * 5 + x * x * (2 * y + 1) * 7 + x * y * i) % 256).astype(np.uint8)[..., None]


def main() -> None:
    from poolwise import PooledFeatures, save
    from poolwise.modelfile import FORMAT

    model = PooledFeatures(3, 6, patch_size=3, grid=[1, 2], two_sided=True, n_patches=300, max_iter=10, random_state=0)
    features = model.fit_transform(images())
    path = HERE / f"{FORMAT}-features.safetensors"
    if path.exists():
        raise SystemExit(f"{path} is frozen: raise FORMAT first, see poolwise.modelfile")
    save(model, path, provenance={"images": len(images()), "note": "tests/golden/make.py"})
    oracle = {"selected": model.selected_.tolist(), "features": [[round(float(f), 6) for f in row] for row in features]}
    path.with_suffix(".json").write_text(json.dumps(oracle) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
