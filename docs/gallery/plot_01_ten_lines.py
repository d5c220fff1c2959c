"""
Ten lines on the photos
=======================

Which of 16 pictures is this crop from? A transformer and a classifier in a scikit-learn pipeline, from pixels to
labels.
"""

# %%
# The images
# ----------
# 4,800 crops of 32×32 pixels from 16 photographs. Test crops come from a strip of each picture that no training crop
# touches.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, PooledFeatures
from poolwise.datasets import load_photos
from poolwise.report import draw_codes

train, test = load_photos(subset="train"), load_photos(subset="test")

fig, axes = plt.subplots(4, 16, figsize=(12, 3.4))
for column, name in enumerate(train.target_names):
    axes[0, column].set_title(name, fontsize=7)
    for row, crop in enumerate(train.images[train.target == column][:4]):
        axes[row, column].imshow(crop)
        axes[row, column].axis("off")
fig.tight_layout(pad=0.2)

# %%
# Learn and predict
# -----------------
# 32 codes are kept of 128 that K-means learns. The labels choose which, the grid that responses are pooled over, and
# whether mirror images count.

features = PooledFeatures(n_codes=32, n_patches=50_000, random_state=0)
model = make_pipeline(features, LinearSVM())
model.fit(train.images, train.target)
accuracy = model.score(test.images, test.target)
print(f"accuracy {accuracy:.2f}, chance {1 / 16:.2f}")
print(features.layer_.pooling, features.layer_.symmetry, f"{features.layer_.n_features} features")

# %%
# What it has learned
# -------------------
# Every code is a small picture: edges, bars, blobs, colours.

fig, ax = plt.subplots(figsize=(8, 2.1))
ax.imshow(draw_codes(features, columns=16))
ax.axis("off")
fig.tight_layout(pad=0)

# %%
# What it confuses
# ----------------

confusion = confusion_matrix(test.target, model.predict(test.images), normalize="true")
fig, ax = plt.subplots(figsize=(6.5, 5.5))
shown = ax.imshow(confusion, cmap="Blues", vmin=0, vmax=1)
ax.set_xticks(range(16), test.target_names, rotation=90)
ax.set_yticks(range(16), test.target_names)
ax.set(xlabel="predicted", ylabel="picture")
fig.colorbar(shown, label="share of its crops")
fig.tight_layout()

hardest = test.target_names[np.argmin(np.diag(confusion))]
print(f"hardest: {hardest}, {confusion.diagonal().min():.2f} of its crops")
