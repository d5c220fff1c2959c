"""
Textures: which is where
========================

Learn brick, grass and gravel from one half of a photograph each, then ask of every place of a new picture which it is.
"""

# %%
# Three photographs
# -----------------
# They ship with scikit-image, 512×512 pixels, grey. The upper halves are for learning, the lower halves make the
# picture to segment.

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from skimage import data
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, Pool, PooledFeatures
from poolwise.report import draw_codes

NAMES, SIDE = ("brick", "grass", "gravel"), 32
pictures = [data.brick(), data.grass(), data.gravel()]


def crops(picture, n, rng):
    """(n, 32, 32) at random places."""
    corners = rng.integers(0, np.array(picture.shape) - SIDE + 1, size=(n, 2))
    return np.stack([picture[y : y + SIDE, x : x + SIDE] for y, x in corners])


rng = np.random.default_rng(0)
images = np.concatenate([crops(picture[:256], 300, rng) for picture in pictures])
labels = np.repeat(np.arange(3), 300)

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2))
for ax, picture, name in zip(axes, pictures, NAMES, strict=True):
    ax.imshow(picture, cmap="gray")
    ax.axhline(256, color="tab:orange")
    ax.set_title(name)
    ax.axis("off")
fig.tight_layout()

# %%
# Learn
# -----
# One cell: where in a crop something is does not matter.

features = PooledFeatures(n_codes=24, pooling=Pool(grid=1), n_patches=50_000, random_state=0)
model = make_pipeline(features, LinearSVM()).fit(images, labels)

fig, ax = plt.subplots(figsize=(6, 2.1))
ax.imshow(draw_codes(features, columns=12))
ax.axis("off")
fig.tight_layout(pad=0)

# %%
# A collage of the lower halves
# -----------------------------
# Grass below, brick above, a disc of gravel. Every window of 32×32, four pixels apart, is one image for the model.

grass, brick, gravel = (pictures[k][256:, :256] for k in (1, 0, 2))
y, x = np.mgrid[:256, :256]
truth = np.where(y > 150 + 25 * np.sin(x / 30), 1, 0)
truth[np.hypot(y - 115, x - 130) < 62] = 2
collage = np.choose(truth, [brick, grass, gravel])

windows = sliding_window_view(collage, (SIDE, SIDE))[::4, ::4]
found = model.predict(windows.reshape(-1, SIDE, SIDE)).reshape(windows.shape[:2])
centre = truth[SIDE // 2 : SIDE // 2 + 4 * found.shape[0] : 4, SIDE // 2 : SIDE // 2 + 4 * found.shape[1] : 4]
share = float((found == centre).mean())
print(f"{found.size} windows, {share:.2f} have the texture of their middle")

fig, axes = plt.subplots(1, 3, figsize=(10, 3.5))
middle = (SIDE // 2, 256 - SIDE // 2, 256 - SIDE // 2, SIDE // 2)
axes[0].imshow(collage, cmap="gray")
axes[1].imshow(collage, cmap="gray")
axes[1].imshow(found, extent=middle, cmap="Set1", alpha=0.55, vmin=0, vmax=8, interpolation="nearest")
axes[1].set(xlim=(0, 256), ylim=(256, 0))
axes[2].imshow(truth, cmap="Set1", vmin=0, vmax=8)
for ax, title in zip(axes, ("collage", "predicted, window by window", "what it is made of"), strict=True):
    ax.set_title(title, fontsize=10)
    ax.axis("off")
fig.tight_layout()
