"""Sequences of (image, label), such as a Dataset of PyTorch or Hugging Face: images are asked for when they are needed.

    item    (image, label, ...), {"image": ..., "label": ...}, or an image alone
    image   a picture of Pillow, a path, or an array (H, W), (H, W, c) or, as PyTorch has them, (c, H, W) with c in 1, 3, 4

One item is asked for at a time, whatever the number of threads: a dataset need not be safe among several.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from poolwise.images.decoding import Decoded, Decoder
from poolwise.images.errors import ImageError, reason_of
from poolwise.images.labelling import as_labels
from poolwise.support.missing import unmasked
from poolwise.support.parameters import Example
from poolwise.support.types import Array

_IMAGES = ("image", "img", "images", "x", "data", "pixel_values")
_LABELS = ("label", "labels", "y", "target", "targets", "fine_label")
_CHANNELS = (1, 3, 4)
_TURN = threading.RLock()  # one for all: two datasets may share a file, and one may ask another


@dataclass(frozen=True)
class Items:
    """What `FileImages` reads in place of files.

    items : with len and [number]    root : its name, for errors    names : the n numbers of its items
    keys : of the image and of the label, where items are dicts    labels : never known beforehand
    """

    items: Any
    root: str
    names: Sequence[int]
    keys: tuple[str | None, str | None] = (None, None)
    labels: None = None

    def __len__(self) -> int:
        return len(self.names)

    def path(self, row: int) -> str:
        """What errors call an item."""
        return f"{self.root}[{self.names[row]}]"

    def subset(self, rows: Array) -> "Items":
        """These rows alone."""
        return Items(self.items, self.root, [self.names[row] for row in rows], self.keys)

    def read(self, row: int, decode: Decoder) -> Decoded:
        """The image of one row; ImageError for whatever goes wrong."""
        image, path = self._item(row)[0], self.path(row)
        try:
            if isinstance(image, str | os.PathLike):
                return decode.decode(os.fspath(image))
            if isinstance(image, Image.Image):
                return decode.of_picture(path, image)
            return decode.of_array(path, _as_pixels(path, unmasked(image, decode.nodata)))
        except ImageError:
            raise
        except Exception as error:
            raise ImageError(path, f"it cannot be read as an image ({reason_of(error)})") from error

    def collect_labels(self) -> Array | None:
        """(n,), in one pass that keeps no image; None if items are images alone."""
        if not self._has_labels():
            return None
        return as_labels([_plain(self._item(row)[1]) for row in range(len(self))], len(self), f"the labels of {self.root}")

    def _has_labels(self) -> bool:
        item = self._ask(0)
        if isinstance(item, Mapping):
            return self._keys(item)[1] is not None
        return isinstance(item, tuple | list) and len(item) > 1

    def _item(self, row: int) -> tuple[Any, Any]:
        """Image and label."""
        item = self._ask(row)
        if isinstance(item, Mapping):
            image, label = self._keys(item)
            return item[image], None if label is None else item.get(label)
        if isinstance(item, tuple | list):
            return item[0], item[1] if len(item) > 1 else None
        return item, None

    def _ask(self, row: int) -> Any:
        try:
            with _TURN:
                item = self.items[self.names[row]]
        except Exception as error:  # a dataset may raise anything
            raise ImageError(self.path(row), f"it cannot be read ({reason_of(error)})") from error
        if isinstance(item, tuple | list) and not item:
            raise ImageError(self.path(row), "it is empty; expected (image, label), a dict, or an image")
        return item

    def _keys(self, item: Mapping[str, Any]) -> tuple[str, str | None]:
        image, label = self.keys
        if image is None:
            image = next((name for name in _IMAGES if name in item), None)
            label = next((name for name in _LABELS if name in item), None)
        if image not in item or (label is not None and label not in item):
            missing = "image" if image is None else repr(image if image not in item else label)
            raise ImageError(
                self.root,
                f"its items have no {missing}, but {', '.join(map(repr, item))}; name image and label with {{columns}}",
                columns=Example("(..., ...)", "IMAGE,LABEL"),
            )
        return str(image), label


def _as_pixels(path: str, image: Any) -> Array:
    """An array of numbers with the channels last."""
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3) or 0 in pixels.shape or pixels.dtype.kind not in "uifb":
        raise ImageError(
            path,
            f"it is {type(image).__name__} of shape {pixels.shape} and {pixels.dtype}; expected a picture of Pillow, a path, "
            f"or numbers of shape (height, width), (height, width, channels) or (channels, height, width)",
        )
    if pixels.ndim == 3 and pixels.shape[0] in _CHANNELS and pixels.shape[2] not in _CHANNELS:
        pixels = np.moveaxis(pixels, 0, 2)
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def _plain(label: Any) -> Any:
    """A tensor or array of one number as this number."""
    return label.item() if hasattr(label, "item") and getattr(label, "shape", None) in ((), (1,)) else label
