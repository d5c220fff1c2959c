"""`open_images`: recognise what was given, and open it."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from poolwise.images.decoding import MAX_PIXELS, Decoder
from poolwise.images.errors import show
from poolwise.images.finding import find
from poolwise.images.items import Items
from poolwise.images.labelling import as_labels, same_in_unicode
from poolwise.images.skipping import first_usable, without_unusable
from poolwise.images.sources import FileImages, Images, ItemImages
from poolwise.images.tables import Columns
from poolwise.images.tiff import Stack
from poolwise.support.missing import Nodata, NodataKind
from poolwise.support.parameters import NAME, ParameterError
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array
from poolwise.support.warning import warn_user


def open_images(
    where: Any,
    *,
    member: str | None = None,
    columns: Columns | None = None,
    labels: Any = "auto",
    resize: tuple[int, int] | None = None,
    crop: bool = False,
    grey: bool | None = None,
    channels: Sequence[int] | None = None,
    page: int | None = None,
    stack: Stack = None,
    nodata: Nodata = None,
    on_error: Literal["raise", "skip"] = "raise",
    max_pixels: int = MAX_PIXELS,
    memory: int = 512 * 2**20,
    n_jobs: int | None = None,
    update: Update = silent,
) -> Images:
    """Open images without loading them.

    Parameters
    ----------
    where : path, address, paths, table, array or sequence
        The path of a folder, whose folders are the labels (without folders: no labels); of a `.npy` file, which is
        memory-mapped; of a `.npz` file or an array or group of zarr; of a `.txt` file with a path a line; of a `.csv` file
        with columns `path` and, if there, `label`, whose paths are relative to its folder; or of one image. An address, such
        as "s3://bucket/photos", of any of these (extra `remote`). Or one of these objects: a list or Series of paths, or of
        (path, label); a DataFrame of pandas or polars, as a `.csv` file; an array, or anything with `shape` (n, H, W, c) or
        (n, H, W), `dtype` and slices, such as those of zarr, h5py and dask; or a sequence of (image, label) or {"image": ...,
        "label": ...}, such as a Dataset of PyTorch or Hugging Face (`poolwise.images.items`).
    member : str or None
        Which array of a `.npz` file or a group of zarr, say "x_train"; its labels are then those in "y_train". A part is
        enough: "train".
    columns : (str, str or None), ((str, str, ...), str or None) or None
        Columns of paths and of labels in a table; several of paths where each image is in several files, whose bands become
        one image's. The key of the image and of the label, where items of a sequence are dicts.
    labels : "auto", None or (n,) array, list or Series
        Those that are found, none at all, or these. Those of a sequence need one pass over it.
    resize : (H, W) or None
        None: all files must have the size of the first. Of files and sequences only, as are `crop`, `grey` and those below it.
    crop : bool
        Cut out the largest centred part with the proportions of `resize` (a square if None) before resizing.
    grey : bool or None
        True: one channel for all. False: three for all. None: as the first file has it; greys among colours get three.
    channels : tuple of int or None
        Bands of every image to take, in this order: (3, 2, 1) are the colours of Sentinel-2. None: all.
    page : int or None
        Which one of a TIFF with several pages, planes or times.
    stack : {"max", "channels", None}
        Of such a TIFF take the largest number over all, or each page as a band. With neither `page` nor `stack` it is refused.
    nodata : "nan", float or None
        What pixels without data hold, as given to `PooledFeatures`. NaN is then let through, and a resized pixel that one of
        them contributes to has no data either. None: NaN is refused. Arrays too.
    on_error : {"raise", "skip"}
        What to do with a file that cannot be used. "raise" when one is met, or "skip": decode all files now, leave those
        out and list them in `skipped`; more than one in a hundred (and more than one), or 20 in a row, are an error.
    max_pixels : int
        Files with more are refused before they are decoded.
    memory : int
        Bytes. Decoded files are kept for the next pass if all together need no more.
    n_jobs : int or None
        Threads of "skip"; as in `poolwise.engine.blas.thread_count`.
    update : callable
        update(files seen, note), now and then, while "skip" looks at them.

    Examples
    --------
    >>> images = open_images(np.zeros((5, 32, 32, 3), np.uint8), labels=list("abbab"))
    >>> images.shape, images[1:3].shape, images.labels.tolist()
    ((5, 32, 32, 3), (2, 32, 32, 3), ['a', 'b', 'b', 'a', 'b'])
    """
    if on_error not in ("raise", "skip"):
        raise ParameterError(f"{{on_error}} must be 'raise' or 'skip'; got {on_error!r}", on_error=NAME)
    nodata = NodataKind().check("nodata", nodata)
    decode = Decoder(
        _check_size(resize),
        bool(crop),
        None if grey is None else bool(grey),
        _count("max_pixels", max_pixels),
        None if channels is None else _check_channels(channels),
        None if page is None else _count("page", page, 0),
        _check_stack(stack),
        nodata,
    )
    if resize is not None and decode.resize is not None and decode.resize[0] * decode.resize[1] > max_pixels:
        raise ParameterError("{resize} is more than {max_pixels}; give a smaller size", resize=resize, max_pixels=max_pixels)
    budget = _count("memory", memory, 0)
    found = find(where, member, columns, isinstance(labels, str))
    if isinstance(found, Images):
        if resize is not None or crop or grey is not None or channels is not None or page is not None or stack is not None:
            raise ValueError(
                "resize, crop, grey, channels, page and stack are for image files; change the array itself before it is given"
            )
        found.labels, found.nodata = _labels(labels, found.labels, len(found)), nodata
        return found
    known = _labels(labels, found.labels, len(found))
    alike = None if known is None else same_in_unicode(known)
    if alike is not None:
        warn_user(
            f"the labels {alike[0]!a} and {alike[1]!a} are one text in two normalisations of Unicode, and count as two "
            f"classes; rename one."
        )
    row, first = (0, found.read(0, decode)) if on_error == "raise" else first_usable(found, decode)
    if first.notes:
        warn_user(f"{show(str(found.names[row]))}: {'; '.join(first.notes)}. The same is done with the other files.")
    source = (ItemImages if isinstance(found, Items) else FileImages)(found, decode, (row, first.pixels), budget)
    source.labels, source.nodata = known, nodata
    source = source if on_error == "raise" else without_unusable(source, n_jobs, update)
    if isinstance(source.listing, Items) and isinstance(labels, str):
        source.labels = source.listing.collect_labels()
    return source


def _labels(given: Any, found: Array | None, n: int) -> Array | None:
    """Those given, or those found, one for each image."""
    if given is None:
        return None
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"labels must be 'auto', None or an array of {n} labels; got {given!r}")
        return None if found is None else as_labels(found, n)
    return as_labels(given, n)


def _check_size(resize: Any) -> tuple[int, int] | None:
    if resize is None:
        return None
    if not isinstance(resize, tuple | list) or len(resize) != 2:
        raise ValueError(f"resize must be (height, width); got {resize!r}")
    return _count("resize", resize[0]), _count("resize", resize[1])


def _check_channels(channels: Any) -> tuple[int, ...]:
    if isinstance(channels, str) or not isinstance(channels, Sequence | np.ndarray) or not len(channels):
        raise ParameterError(f"{{channels}} must be numbers of bands, such as (3, 2, 1); got {channels!r}", channels=NAME)
    return tuple(_count("channels", one, 0) for one in channels)


def _check_stack(stack: Any) -> Stack:
    if stack not in (None, "max", "channels"):
        raise ParameterError(f"{{stack}} must be 'max', 'channels' or None; got {stack!r}", stack=NAME)
    return stack


def _count(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{{{name}}} must be a whole number of at least {least}; got {value!r}", **{name: NAME})
    return int(value)
