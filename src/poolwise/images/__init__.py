"""Image sources: arrays, memory maps, folders and lists of files, behind one small interface.

    open_images(where) ─▶ Images       shape (n, H, W, c), labels, names, and images[rows], decoded when asked for

Files are taken for hostile: see `poolwise.images.decoding` for what is read and what is refused.
"""

from poolwise.images.errors import ImageError
from poolwise.images.finding import kind_of
from poolwise.images.opening import open_images
from poolwise.images.skipping import write_manifest
from poolwise.images.sources import Images

__all__ = ["ImageError", "Images", "kind_of", "open_images", "write_manifest"]
