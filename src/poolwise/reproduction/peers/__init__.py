"""What other people would try on the same images: hand-made features with our linear SVM, and a small network.

A file each. Libraries that poolwise does not depend on are imported when a peer is made; where one does not import, that is an
ImportError with the reason.
"""

from collections.abc import Callable
from typing import Any

from poolwise.reproduction.peers.bands import Bands
from poolwise.reproduction.peers.base import Peer
from poolwise.reproduction.peers.hog import HogCells
from poolwise.reproduction.peers.lbp import BinaryPatterns
from poolwise.reproduction.peers.network import Network
from poolwise.reproduction.peers.pixels import Pixels
from poolwise.reproduction.peers.scattering import Scattering

__all__ = ["PEERS", "Network", "Peer"]

PEERS: dict[str, Callable[[tuple[Any, ...]], Peer]] = {
    "raw pixels": Pixels,
    "HOG": HogCells,
    "LBP": BinaryPatterns,
    "band statistics": Bands,
    "scattering": Scattering,
}
