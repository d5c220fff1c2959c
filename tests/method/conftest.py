import math

import numpy as np
import pytest

from poolwise.method.descriptors import Patches
from poolwise.method.encoders import ENCODERS, Threshold
from poolwise.method.encoders.base import SignedEncoder
from poolwise.method.layer import Layer
from poolwise.method.pooling import POOLINGS, Pool
from poolwise.method.scale import Scale
from poolwise.method.whitening import Whitening
from poolwise.support.parameters import Flag, Numbers


def every_form(family):
    """Every part of a family under each of its words, with each flag turned over, and with two of what may be several."""
    for word, part in family.by_word.items():
        plain = part.of_word(word)
        yield plain
        for name, one in part.described().items():
            if isinstance(one.kind, Flag):
                split = isinstance(plain, SignedEncoder) and name == "two_sided"  # one line for all of them: in test_sparse
                if word in part.words[:2] and not split:  # once is enough for a part of many words; the first may be "auto"
                    yield plain.but(**{name: not one.default})
            elif isinstance(one.kind, Numbers):
                yield plain.but(**{name: (0.25, 0.75)})


@pytest.fixture(params=list(dict.fromkeys(form.decided(pairs=False) for form in every_form(ENCODERS))), ids=repr)
def encoder(request):
    """Every encoder of the registry: a new one is tested without a line here."""
    return request.param


@pytest.fixture(params=list(dict.fromkeys(form.choices((27, 27))[0] for form in every_form(POOLINGS))), ids=repr)
def pooling(request):
    """Every pooling of the registry, as it works without labels."""
    return request.param


@pytest.fixture
def make_layer():
    """A layer of random codes of unit norm and a random whitening, without scale and projection."""

    def make(rng, K=20, *, shape=(32, 32, 3), descriptor=None, encoder=None, pooling=None, rank=None, symmetry=None) -> Layer:
        descriptor, encoder, pooling = (
            descriptor or Patches(),
            encoder or Threshold(0.25, two_sided=False),
            pooling or Pool("average", 2),
        )
        d = descriptor.dimension(shape[2])
        D = rng.normal(size=(K, rank or d))
        D = (D / np.linalg.norm(D, axis=1, keepdims=True)).astype(np.float32)
        G = rng.normal(size=(d, d)) / math.sqrt(d)
        white = Whitening(0.1 * rng.normal(size=d), (np.eye(d) + 0.2 * (G + G.T))[:, :rank])
        scale = Scale.none(pooling.n_cells, pooling.width(encoder.sides * K))
        return Layer(shape, descriptor, white, D, encoder, pooling, scale, symmetry=symmetry)

    return make
