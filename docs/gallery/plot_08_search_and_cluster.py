"""
Unlabelled images: search, clusters, a map
==========================================

Features need no labels to be of use. Find what looks alike, group it, and see all images at once. Labels are used
at the end alone, to count how often neighbours are from the same picture.
"""

# %%
# Features, and fewer of them
# ---------------------------
# One cell, and the eight turns and mirrors of a crop: what matters is what it shows, not where. `AffinitySelector`
# then keeps features that represent the others, of any matrix.

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from poolwise import AffinitySelector, Pool, PooledFeatures
from poolwise.datasets import load_photos

photos = load_photos(subset="train")
images, picture = photos.images[::4], photos.target[::4]
features = PooledFeatures(
    n_codes=64, pooling=Pool(grid=1), symmetry="dihedral", projection=None, n_patches=50_000, random_state=0
)
X = features.fit_transform(images)
selector = AffinitySelector(48, random_state=0).fit(X)
F = normalize(selector.transform(X))
print(f"{len(images)} images, {X.shape[1]} features, {F.shape[1]} kept")

# %%
# Search by example
# -----------------
# On the left a crop, then the eight nearest of the others.

neighbours = NearestNeighbors(n_neighbors=9).fit(F).kneighbors(F, return_distance=False)
fig, axes = plt.subplots(6, 9, figsize=(8, 5.5))
for row, query in enumerate([10, 130, 260, 390, 520, 710]):
    for column, found in enumerate([query, *[other for other in neighbours[query] if other != query][:8]]):
        axes[row, column].imshow(images[found])
        axes[row, column].set(xticks=[], yticks=[])
    for side in axes[row, 0].spines.values():
        side.set(color="tab:orange", linewidth=3)
fig.tight_layout(pad=0.3)


def same_picture(F):
    near = NearestNeighbors(n_neighbors=2).fit(F).kneighbors(F, return_distance=False)
    others = np.where(near[:, 0] == np.arange(len(F)), near[:, 1], near[:, 0])
    return float(np.mean(picture[others] == picture))


pixels = normalize(images.reshape(len(images), -1).astype(np.float32))
nearest = {"all features": same_picture(normalize(X)), "kept": same_picture(F), "pixels": same_picture(pixels)}
for name, share in nearest.items():
    print(f"{name:13} the nearest other crop is from the same picture: {share:.2f}")

# %%
# Clusters
# --------

groups = KMeans(16, n_init=4, random_state=0).fit(F)
agreement = adjusted_mutual_info_score(picture, groups.labels_)
print(f"clusters and pictures share {agreement:.2f} of their information (0: chance, 1: the same)")

fig, axes = plt.subplots(8, 16, figsize=(12, 6.2))
for column in range(16):
    distance = np.linalg.norm(F - groups.cluster_centers_[column], axis=1) + 10 * (groups.labels_ != column)
    for row, found in enumerate(np.argsort(distance)[:8]):
        axes[row, column].imshow(images[found] if groups.labels_[found] == column else np.full((1, 1, 3), 255))
for ax in axes.flat:
    ax.axis("off")
fig.tight_layout(pad=0.2)

# %%
# A picture of pictures
# ---------------------
# t-SNE puts crops with similar features next to each other.

places = TSNE(perplexity=20, random_state=0, init="pca").fit_transform(F)
canvas = np.full((1200, 1200, 3), 255, np.uint8)
low, high = places.min(axis=0), places.max(axis=0)
for (x, y), image in zip(((places - low) / (high - low) * 1168).astype(int), images, strict=True):
    canvas[y : y + 32, x : x + 32] = image
fig, ax = plt.subplots(figsize=(10, 10))
ax.imshow(canvas)
ax.axis("off")
fig.tight_layout(pad=0)
