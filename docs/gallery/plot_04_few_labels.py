"""
Few labels
==========

Codes need no labels. Learn them from all images, and the classifier from the few that somebody has looked at.
"""

# %%
# Codes from all images
# ---------------------

import matplotlib.pyplot as plt
import numpy as np

from poolwise import LinearSVM, Pool, PooledFeatures
from poolwise.datasets import load_photos

train, test = load_photos(subset="train"), load_photos(subset="test")
features = PooledFeatures(n_codes=32, pooling=Pool(grid=1), symmetry="mirror", n_patches=50_000, random_state=0)
X, X_test = features.fit_transform(train.images), features.transform(test.images)
print(f"{X.shape[1]} features of {len(X)} images, no label seen")

# %%
# One to fifty labels a class
# ---------------------------
# Five draws of labelled images for each number. `LinearSVM` takes a γ that follows from the features and labels; raw
# pixels get the same classifier.


def draw(per_class, rng):
    return np.concatenate([rng.choice(np.flatnonzero(train.target == k), per_class, replace=False) for k in range(16)])


def scores(X, X_test, per_class):
    rng = np.random.default_rng(per_class)
    rows = [draw(per_class, rng) for _ in range(5)]
    return [LinearSVM().fit(X[some], train.target[some]).score(X_test, test.target) for some in rows]


numbers = [1, 2, 5, 10, 20, 50]
pixels, pixels_test = train.data.astype(np.float32), test.data.astype(np.float32)
learned = np.array([scores(X, X_test, n) for n in numbers])
raw = np.array([scores(pixels, pixels_test, n) for n in numbers])

fig, ax = plt.subplots(figsize=(6.5, 4.2))
for values, label in ((learned, "32 codes, learned from all images"), (raw, "raw pixels")):
    ax.errorbar(numbers, 100 * values.mean(axis=1), 100 * values.std(axis=1), fmt="o-", capsize=3, label=label)
ax.axhline(100 / 16, color="0.7", ls=":", label="chance")
ax.set(xscale="log", xlabel="labelled images a class", ylabel="test accuracy, %")
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.legend()
fig.tight_layout()

for n, ours, theirs in zip(numbers, learned.mean(axis=1), raw.mean(axis=1), strict=True):
    print(f"{n:3} labels a class: features {ours:.3f}, pixels {theirs:.3f}")

# %%
# What five labels a class find
# -----------------------------
# The test crops with the largest margin for each picture. A red frame is a mistake.

some = draw(5, np.random.default_rng(0))
svm = LinearSVM().fit(X[some], train.target[some])
margins = svm.decision_function(X_test)
fig, axes = plt.subplots(6, 16, figsize=(12, 4.9))
for column, name in enumerate(train.target_names):
    axes[0, column].set_title(name, fontsize=7)
    for row, found in enumerate(np.argsort(-margins[:, column])[:6]):
        ax = axes[row, column]
        ax.imshow(test.images[found])
        ax.set(xticks=[], yticks=[])
        for side in ax.spines.values():
            side.set(color="tab:red" if test.target[found] != column else "white", linewidth=2.5)
fig.tight_layout(pad=0.2)
