"""
Choosing codes: what is kept, and why
=====================================

K-means learns many codes that show the same edge in other places. After pooling they respond alike, so most are not
needed. Affinity propagation keeps those that differ: the method of the paper, pooling-invariant dictionary learning
(PDL).
"""

# %%
# 256 candidates, 32 kept
# -----------------------
# Each column is a code that was kept, above candidates that it represents, those most alike after pooling first. Look
# down a column: the same edge, shifted.

import matplotlib.pyplot as plt
import numpy as np

from poolwise import LinearSVM, PooledFeatures
from poolwise.datasets import load_photos
from poolwise.report import draw_clusters

train, test = load_photos(subset="train"), load_photos(subset="test")
settings = {"n_patches": 50_000, "random_state": 0}
chosen = PooledFeatures.preset("jia2012", n_codes=32, n_candidates=256, **settings).fit(train.images)

fig, ax = plt.subplots(figsize=(11, 3.3))
ax.imshow(draw_clusters(chosen, columns=32, most=8))
ax.axis("off")
fig.tight_layout(pad=0)

# %%
# How alike before pooling, and after
# -----------------------------------
# The correlation of all pairs of candidates after pooling, sorted by cluster: blocks on the diagonal are codes that
# one code can represent.

C = chosen.covariance_
correlation = C / np.sqrt(np.outer(np.diag(C), np.diag(C)))
order = np.argsort(chosen.cluster_, kind="stable")
fig, ax = plt.subplots(figsize=(5.5, 4.6))
shown = ax.imshow(correlation[np.ix_(order, order)], cmap="RdBu_r", vmin=-1, vmax=1)
ax.set(xlabel="candidate, by cluster", ylabel="candidate, by cluster")
fig.colorbar(shown, label="correlation after pooling")
fig.tight_layout()

own = correlation[np.arange(256), chosen.cluster_]
print(f"a candidate and the code that represents it: median correlation {np.median(own):.2f}")
print(f"any two candidates: {np.median(correlation[np.triu_indices(256, 1)]):.2f}")

# %%
# Fewer codes, without the images
# -------------------------------
# `reselect` needs the candidates' covariance alone. Next to it K-means with as many codes.


def accuracy(model):
    svm = LinearSVM(0.005).fit(model.transform(train.images), train.target)
    return svm.score(model.transform(test.images), test.target)


sizes = [8, 16, 32, 64]
kept = [accuracy(chosen.reselect(n_codes=size)) for size in sizes]
by_chance = [accuracy(chosen.reselect(n_codes=size, selection="random", projection=None)) for size in sizes]
kmeans = [accuracy(PooledFeatures.preset("jia2012", n_codes=size, **settings).fit(train.images)) for size in sizes]

fig, ax = plt.subplots(figsize=(6, 4))
for values, label in ((kept, "chosen of 256, projected"), (by_chance, "any of 256"), (kmeans, "K-means alone")):
    ax.plot(sizes, 100 * np.array(values), "o-", label=label)
ax.set_xscale("log", base=2)
ax.set_xticks(sizes, sizes)
ax.set(xlabel="codes computed for an image", ylabel="test accuracy, %")
ax.legend()
fig.tight_layout()

for size, *row in zip(sizes, kept, by_chance, kmeans, strict=True):
    print(f"{size:3} codes: chosen {row[0]:.3f}, any {row[1]:.3f}, K-means {row[2]:.3f}")

# %%
# One run with one seed: differences of a point or two are chance. `poolwise demo` runs three, and the
# user guide has five of CIFAR-10. Choosing helps most where few codes are kept.
