"""
Two layers
==========

Codes of a second layer look at maps of what the first layer's codes respond. Does that pay? Next to it one layer
with as many codes, and one with pooling of second order.
"""

# %%
# Layers on layers
# ----------------

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np

from poolwise import LinearSVM, Patches, Pool, PooledFeatures, SecondOrder, StackedFeatures
from poolwise.datasets import load_photos
from poolwise.report import draw_codes

train, test = load_photos(subset="train"), load_photos(subset="test")
images, labels = train.images[::2], train.target[::2]
some = {"n_patches": 20_000, "random_state": 0}
first = PooledFeatures(24, pooling=Pool(grid=1), **some)
second = PooledFeatures(24, descriptor=Patches(3), pooling=Pool(grid=1), **some)
models = {
    "one layer, 24 codes": first,
    "one layer, 48 codes": PooledFeatures(48, pooling=Pool(grid=1), **some),
    "two layers, 24 codes each": StackedFeatures([first, second], map_cells=9),
    "second order, 24 codes": PooledFeatures(24, pooling=SecondOrder(grid=1), **some),
}

# %%
# Does it pay?
# ------------

scores, sizes = {}, {}
for name, model in models.items():
    X = model.fit_transform(images, labels)
    svm = LinearSVM().fit(X, labels)
    scores[name], sizes[name] = svm.score(model.transform(test.images), test.target), X.shape[1]
    print(f"{name:26} {sizes[name]:5} features {scores[name]:.3f}")

fig, ax = plt.subplots(figsize=(7, 2.8))
bars = ax.barh(list(scores), [100 * score for score in scores.values()], color=["0.8", "0.65", "tab:blue", "tab:orange"])
ax.bar_label(bars, [f"{100 * score:.1f} %" for score in scores.values()], padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 105), xlabel="test accuracy")
fig.tight_layout()

# %%
# A second layer is for experiments. Where we compared them with more data, one layer with as many codes was better,
# and second order far better.
#
# What the layers see
# -------------------
# The first layer's codes are pictures. For the second, each row has the test crops that excite one code most.

stack = models["two layers, 24 codes each"]
fig, ax = plt.subplots(figsize=(7, 2))
ax.imshow(draw_codes(stack.layers_[0], columns=12))
ax.axis("off")
fig.tight_layout(pad=0)

names = stack.get_feature_names_out()
last = np.flatnonzero([name.startswith("layer1_") for name in names])
responses = stack.transform(test.images)[:, last]
strongest = np.argsort(-responses.max(axis=0))[:6]
fig, axes = plt.subplots(6, 12, figsize=(9, 4.7))
for row, k in enumerate(strongest):
    for column, found in enumerate(np.argsort(-responses[:, k])[:12]):
        axes[row, column].imshow(test.images[found])
        axes[row, column].axis("off")
fig.tight_layout(pad=0.2)
