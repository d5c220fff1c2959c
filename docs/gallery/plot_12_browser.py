"""
ONNX in the browser
===================

A model leaves Python in two ways: as a graph that ONNX Runtime runs anywhere, in browsers too, and as a page that needs
nothing but a browser. Both give what the library gives.
"""

# %%
# A small model
# -------------

import base64
import html
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from PIL import Image
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVMCV, Pool, PooledFeatures, export_onnx, export_page
from poolwise.datasets import load_photos

train, test = load_photos(subset="train"), load_photos(subset="test")
features = PooledFeatures(24, pooling=Pool(grid=2), symmetry="mirror", n_patches=20_000, random_state=0)
model = make_pipeline(features, LinearSVMCV())
model = model.fit(train.images[::2], train.target_names[train.target[::2]])

# %%
# The graph
# ---------
# From pixels to labels, whitening and mirror images included. ONNX Runtime runs it without poolwise; with
# onnxruntime-web it runs in a page of your own, of which :doc:`/export` has the twenty lines.

kept = TemporaryDirectory()  # take a folder of yours
folder = Path(kept.name)
export_onnx(model, folder / "photos.onnx", layout="NHWC")
session = onnxruntime.InferenceSession(folder / "photos.onnx", providers=["CPUExecutionProvider"])
outputs = ["features", "margins", "probabilities", "label"]
theirs, margins, probabilities, labels = session.run(outputs, {"images": test.images})

ours = model[0].transform(test.images)
largest = float(np.abs(theirs - ours).max() / np.abs(ours).max())
same = float(np.mean(labels == model.predict(test.images)))
labels_of = test.target_names[test.target]
accuracy = float(np.mean(labels == labels_of))
print(f"features differ by at most {largest:.0e} of the largest one")
print(f"the same label for {same:.1%} of {len(test.images):,} crops; {accuracy:.1%} are right")

# %%
# What the graph predicts
# -----------------------
# A crop of each of eight pictures, and the graph's probabilities of the four likeliest labels; the
# right one is green.

fig, axes = plt.subplots(4, 4, figsize=(9, 7), height_ratios=[2, 1, 2, 1])
for place, picture in enumerate(range(0, 16, 2)):
    crop, bars = axes[2 * (place // 4), place % 4], axes[2 * (place // 4) + 1, place % 4]
    at = np.flatnonzero(test.target == picture)[7]
    crop.imshow(test.images[at])
    crop.axis("off")
    likeliest = np.argsort(-probabilities[at])[:4]
    names = model.classes_[likeliest]
    colours = ["tab:green" if name == labels_of[at] else "0.8" for name in names]
    bars.barh(range(4), probabilities[at, likeliest], color=colours)
    for row, name in enumerate(names):
        bars.text(0.02, row, name, va="center", fontsize=10)
    bars.set(xlim=(0, 1), ylim=(3.5, -0.5), xticks=[], yticks=[])
fig.tight_layout(pad=0.4)

# %%
# The page
# --------
# One file with the whole model and its arithmetic inside, which asks no server for anything.

page = folder / "photos.html"
export_page(model, page, title="Which picture is it from?")
sizes = {path.name: path.stat().st_size for path in (folder / "photos.onnx", page)}
for name, size in sizes.items():
    print(f"{name}: {size / 1e6:.2f} MB")

# %%
# Below is the page itself, in a frame, with six test crops that it was given. It computed what it shows when you opened
# this one. Drop a picture of your own on it.


class Framed:
    """A page in a frame, with pictures as if someone had dropped them there."""

    GIVE = """(async () => {
      const given = new DataTransfer(), files = this.contentDocument.querySelector("#files");
      for (const [name, picture] of Object.entries(%s))
        given.items.add(new File([await (await fetch("data:image/png;base64," + picture)).blob()], name));
      files.files = given.files;
      files.dispatchEvent(new Event("change"));
    })()"""

    def __init__(self, page, pictures):
        self.page, self.pictures = page, pictures

    def _repr_html_(self):
        source = html.escape(self.page.read_text(encoding="utf-8"))
        give = html.escape(self.GIVE % self.pictures)
        return f'<iframe title="The page" srcdoc="{source}" onload="{give}" style="width: 100%; height: 75rem"></iframe>'


def as_png(pixels):
    Image.fromarray(pixels).save(buffer := io.BytesIO(), "png")
    return base64.b64encode(buffer.getvalue()).decode()


some = np.flatnonzero(test.target % 3 == 0)[::50][:12:2]
Framed(page, {f"{labels_of[row]}.png": as_png(test.images[row]) for row in some})
