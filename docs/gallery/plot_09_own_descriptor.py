"""
A descriptor of your own
========================

What images are described by may be any function from images to local vectors. Whitening, codes, selection and
pooling work on its vectors as on patches.
"""

# %%
# A function
# ----------
# Images (n, H, W, c) to local vectors (n, h, w, d), each image by itself. This one takes four numbers at every second
# pixel, in windows of two sizes: how bright, how rough, and how strong edges are along each axis.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import uniform_filter

from poolwise import LinearSVM, PooledFeatures
from poolwise.datasets import load_photos
from poolwise.report import draw_codes


def roughness(images):
    grey = np.asarray(images, np.float32).mean(axis=3)
    dy, dx = np.gradient(grey, axis=(1, 2))
    found = []
    for size in (3, 7):
        window = (0, size, size)
        mean = uniform_filter(grey, window)
        variance = np.maximum(uniform_filter(grey**2, window) - mean**2, 0)
        found += [mean / 64, np.log1p(np.sqrt(variance))]
        found += [np.log1p(uniform_filter(np.abs(slope), window)) for slope in (dy, dx)]
    return np.stack(found, axis=3)[:, ::2, ::2]


train, test = load_photos(subset="train"), load_photos(subset="test")
maps = roughness(train.images[:1])
print(f"{train.images[:1].shape} to {maps.shape}")

fig, axes = plt.subplots(1, 6, figsize=(10, 2))
crop = 1208
axes[0].imshow(train.images[crop])
titles = ["image", "mean, 3", "roughness, 3", "edges ↕, 3", "edges ↔, 3", "roughness, 7"]
for ax, k, title in zip(axes, (None, 0, 1, 2, 3, 5), titles, strict=True):
    if k is not None:
        ax.imshow(roughness(train.images[crop : crop + 1])[0, :, :, k], cmap="viridis")
    ax.set_title(title, fontsize=9)
    ax.axis("off")
fig.tight_layout(pad=0.3)

# %%
# Codes of it
# -----------
# Codes are no pictures now, so each is shown by the window of a training image that excites it most.


def learned(**settings):
    model = PooledFeatures(n_codes=32, n_patches=50_000, random_state=0, **settings)
    svm = LinearSVM().fit(model.fit_transform(train.images, train.target), train.target)
    return model, svm.score(model.transform(test.images), test.target)


own, with_own = learned(descriptor=roughness)
_, with_patches = learned()
fig, ax = plt.subplots(figsize=(8, 2.1))
ax.imshow(draw_codes(own, columns=16))
ax.axis("off")
fig.tight_layout(pad=0)
print(f"eight numbers of a window {with_own:.3f}, patches {with_patches:.3f}")

# %%
# A file holds the name of the function, not the function: give it again, ``load("mine.safetensors",
# descriptor=roughness)``.
