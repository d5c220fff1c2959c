"""
Microscopy with one file per channel
====================================

A microscope writes a file for each channel: nuclei, membranes, a marker. Stack them to images with three channels,
and learn from all.

The cells are made by a formula, not photographed, so that the example needs no download: discs with texture, noise and
uneven light. What differs between the kinds is where the marker is. Its own channel shows that in part, all together show it
plainly. Put your own files in place of these.
"""

# %%
# Files as a microscope writes them
# ---------------------------------
# 16 bits, grey, one TIFF per field and channel.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import tifffile
from scipy.ndimage import gaussian_filter
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, PooledFeatures, open_images

CHANNELS, KINDS, SIDE = ("nuclei", "membranes", "marker"), ("in the nucleus", "in the cell", "at the membrane"), 48


def field(kind, rng):
    """Nuclei, membranes and marker of some cells, (48, 48, 3) uint16."""
    y, x = np.mgrid[:SIDE, :SIDE]
    layers = np.zeros((SIDE, SIDE, 3))
    for _ in range(rng.integers(4, 8)):
        centre, radius = rng.uniform(4, SIDE - 4, 2), rng.uniform(6.5, 9)
        stretch, turn = rng.uniform(0.75, 1), rng.uniform(0, np.pi)
        u = (y - centre[0]) * np.cos(turn) + (x - centre[1]) * np.sin(turn)
        v = (x - centre[1]) * np.cos(turn) - (y - centre[0]) * np.sin(turn)
        distance = np.hypot(u, v / stretch) / radius
        nucleus, ring = distance < 0.5, np.exp(-(((distance - 1) / 0.12) ** 2))
        inside = (distance >= 0.5) & (distance < 0.95)
        layers[..., 0] += nucleus
        layers[..., 1] += ring
        layers[..., 2] += {0: nucleus, 1: inside, 2: ring}[kind] * rng.uniform(0.5, 1)
    layers = gaussian_filter(np.minimum(layers, 1.3), (0.8, 0.8, 0))
    light = 1 + 0.4 * gaussian_filter(rng.normal(size=(SIDE, SIDE, 1)), (12, 12, 0)) * 30
    return rng.poisson(np.clip(layers * light, 0, None) * 60 + 25).astype(np.uint16) * 40


folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
labels = np.repeat(np.arange(3), 80)
for number, kind in enumerate(labels):
    pixels = field(kind, rng)
    for channel, name in enumerate(CHANNELS):
        (folder / name).mkdir(exist_ok=True)
        tifffile.imwrite(folder / name / f"field{number:03}.tif", pixels[:, :, channel])
print(*sorted(path.relative_to(folder) for path in folder.rglob("field000.tif")), sep="\n")

# %%
# Channels together
# -----------------

sources = [open_images(folder / name) for name in CHANNELS]
images = np.concatenate([source[:] for source in sources], axis=3)
print(images.shape, images.dtype, f"{images.min()} to {images.max()}")

fig, axes = plt.subplots(3, 6, figsize=(10, 5.4))
for row, kind in enumerate(KINDS):
    one = images[labels == row][:3]
    for column in range(3):
        axes[row, column].imshow(one[0, :, :, column], cmap="gray")
        axes[row, column + 3].imshow(np.clip(one[column] / 5000, 0, 1)[:, :, [2, 1, 0]])
        axes[0, column].set_title(CHANNELS[column], fontsize=9)
        axes[0, column + 3].set_title("together", fontsize=9)
    axes[row, 0].set_ylabel(kind, fontsize=9)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
fig.tight_layout(pad=0.4)

# %%
# All channels, and each alone
# ----------------------------
# Fields have no up and down: `symmetry="dihedral"`. Codes look at the same place in all channels, so they see whether
# the marker lies on the nucleus or beside it.

rows_train, rows_test = train_test_split(np.arange(len(images)), test_size=0.5, stratify=labels, random_state=0)


def accuracy(images):
    features = PooledFeatures(n_codes=24, symmetry="dihedral", n_patches=20_000, random_state=0)
    model = make_pipeline(features, LinearSVM()).fit(images[rows_train], labels[rows_train])
    return model.score(images[rows_test], labels[rows_test])


scores = {name: accuracy(images[..., k : k + 1]) for k, name in enumerate(CHANNELS)}
scores["together"] = accuracy(images)
for name, score in scores.items():
    print(f"{name:10} {score:.2f}")

fig, ax = plt.subplots(figsize=(6, 2.6))
ax.barh(list(scores), [100 * score for score in scores.values()], color=["0.75"] * 3 + ["tab:blue"])
ax.axvline(100 / 3, color="0.4", ls=":")
ax.invert_yaxis()
ax.set(xlabel="test accuracy, % (dotted: chance)", xlim=(0, 100))
fig.tight_layout()
