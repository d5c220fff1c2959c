"""A small convolutional network, trained from random weights for a number of seconds of processor time.

    (3×3 convolution, batch norm, ReLU) × 2, halve    with 32, 64 and 128 maps; mean over positions, linear layer

AdamW, batches of 64, a rate that falls from 0.003 to 0 as the time runs out; images are standardised band by band, mirrored at
random and moved by up to an eighth of their side. Needs PyTorch.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from poolwise.support.types import Array

_MAPS = (32, 64, 128)
_BATCH, _RATE = 64, 3e-3


class Network:
    """The network with the weights that it has when the time is over.

    seconds : of the process, all threads together: what other programs do meanwhile does not count
    """

    def __init__(self, seconds: float, *, seed: int = 0) -> None:
        import torch

        self.seconds, self.seed = seconds, seed
        self._torch: Any = torch

    def fit(self, images: Array, labels: Array) -> Self:
        """images : (n, H, W, c)    labels : (n,)"""
        torch = self._torch
        begun = time.process_time()
        rng = np.random.default_rng(self.seed)
        with _one_thread(torch), torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.classes_, targets = np.unique(labels, return_inverse=True)
            self.mean_ = images.mean(axis=(0, 1, 2), dtype=np.float64).astype(np.float32)
            self.std_ = images.std(axis=(0, 1, 2), dtype=np.float64).astype(np.float32) + np.float32(1e-6)
            self.net_ = _layers(torch, images.shape[-1], len(self.classes_))
            optimizer = torch.optim.AdamW(self.net_.parameters(), lr=_RATE)
            self.steps_ = 0
            while (left := 1 - (time.process_time() - begun) / self.seconds) > 0 or not self.steps_:
                rows = rng.choice(len(images), min(_BATCH, len(images)), replace=False)
                optimizer.param_groups[0]["lr"] = _RATE * max(left, 0.0)
                optimizer.zero_grad()
                scores = self.net_(torch.from_numpy(_varied(self._standard(images[rows]), rng)))
                torch.nn.functional.cross_entropy(scores, torch.from_numpy(targets[rows])).backward()
                optimizer.step()
                self.steps_ += 1
        self.epochs_ = self.steps_ * min(_BATCH, len(images)) / len(images)
        self.net_.eval()
        return self

    def predict(self, images: Array) -> Array:
        with _one_thread(self._torch), self._torch.no_grad():
            parts = [
                self.net_(self._torch.from_numpy(self._standard(images[start : start + 4 * _BATCH]))).argmax(1).numpy()
                for start in range(0, len(images), 4 * _BATCH)
            ]
        return np.asarray(self.classes_[np.concatenate(parts)])

    def _standard(self, images: Array) -> Array:
        """(n, c, H, W) float32"""
        return np.ascontiguousarray(np.moveaxis((images - self.mean_) / self.std_, -1, 1), dtype=np.float32)

    @property
    def n_bytes(self) -> int:
        """Of the weights."""
        return 4 * sum(one.numel() for one in self.net_.state_dict().values())


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Threads that wait for each other use up processor time: one makes the most of it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _layers(torch: Any, channels: int, classes: int) -> Any:
    nn, found = torch.nn, []
    for maps in _MAPS:
        for entering in (channels, maps):
            found += [nn.Conv2d(entering, maps, 3, padding=1, bias=False), nn.BatchNorm2d(maps), nn.ReLU()]
        found.append(nn.MaxPool2d(2))
        channels = maps
    return nn.Sequential(*found[:-1], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def _varied(X: Array, rng: np.random.Generator) -> Array:
    """Each mirrored or not, and all moved by the same few pixels; the border is filled by reflection."""
    most = X.shape[2] // 8
    X = np.where(rng.random(len(X))[:, None, None, None] < 0.5, X[..., ::-1], X)
    dy, dx = rng.integers(-most, most + 1, 2)
    padded = np.pad(X, ((0, 0), (0, 0), (most, most), (most, most)), mode="reflect")
    height, width = X.shape[2:]
    return np.ascontiguousarray(padded[:, :, most + dy : most + dy + height, most + dx : most + dx + width])
