"""Several files of one image, such as a grey TIFF per channel: their bands, one file's behind the other's."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poolwise.images.decoding import Decoded, Decoder
from poolwise.images.errors import ImageError, show
from poolwise.support.parameters import Example


def decode_siblings(paths: Sequence[str], decode: Decoder) -> Decoded:
    """(H, W, c1 + c2 + ...) of the files of one image, in their order; `channels` are those of the whole.

    All must have the size and type of the first; ImageError names the one that differs, and the first.
    """
    each = replace(decode, channels=None)
    found = [each.decode(path) for path in paths]
    first = found[0].pixels
    for path, one in zip(paths, found, strict=True):
        if one.pixels.shape[:2] != first.shape[:2]:
            (h, w), (H, W) = one.pixels.shape[:2], first.shape[:2]
            raise ImageError(
                path,
                f"{h}×{w} pixels, but {show(paths[0])}, another file of the same image, has {H}×{W}; check that they belong "
                f"together, or give {{resize}}",
                resize=Example("(height, width)", "HEIGHTxWIDTH"),
            )
        if one.pixels.dtype != first.dtype:
            raise ImageError(
                path,
                f"its pixels are {one.pixels.dtype}, those of {show(paths[0])}, another file of the same image, {first.dtype}; "
                f"save all alike",
            )
    notes = dict.fromkeys(note for one in found for note in one.notes)
    return Decoded(decode.take_channels(paths[0], np.concatenate([one.pixels for one in found], axis=2)), tuple(notes))
