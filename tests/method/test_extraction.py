"""Both passes give what `Layer.features` states in plain NumPy, for every encoder, pooling, shape and stride."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from poolwise.engine.threads import Threads
from poolwise.method import extraction
from poolwise.method.descriptors import Patches
from poolwise.method.descriptors.patches import normalize_contrast, view_patches
from poolwise.method.encoders import LLC, OMP, Encoder, Lasso, Nearest, Threshold, Triangle
from poolwise.method.extraction import block_size, feature_blocks, features_of, fused, plain, pooled_blocks, prepare
from poolwise.method.extraction.fused import FusedPass
from poolwise.method.extraction.plain import PlainPass
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import BothOrders, Pool, SecondOrder
from poolwise.method.scale import Scale
from poolwise.method.whitening import Whitening


def assert_same(ready, images, tolerance=1e-4):
    """The features of a pass are those of its layer in plain NumPy."""
    X, expected = features_of(ready, images), ready.layer.features(images)
    assert X.dtype == np.float32
    assert X.shape == expected.shape == (len(images), ready.layer.n_features)
    np.testing.assert_allclose(X, expected, atol=tolerance * max(1.0, np.abs(expected).max()), rtol=0)  # sums reach hundreds


def with_scale_and_projection(layer, rng, per_cell, kind):
    """The layer with random numbers where a fit would have learned them."""
    width = layer.pooling.width(layer.n_outputs)
    shape = (layer.n_cells, width) if per_cell else (width,)
    T = {"nystrom": rng.normal(size=(width, width)), "pca": rng.normal(size=(5, width)), None: None}[kind]
    scale = Scale(rng.uniform(0, 0.2, size=shape), rng.uniform(0.5, 2, size=shape))
    return replace(layer, scale=scale, projection=None if T is None else Projection(kind, T / np.sqrt(width)))


def is_fused(layer):
    known = type(layer.pooling) in (Pool, SecondOrder, BothOrders)
    return known and layer.encoder.fused(layer.codes, layer.whitening.inner) is not None


def few(encoder):
    """Images to compare on: one where the formula solves a problem for every patch."""
    return 1 if isinstance(encoder, OMP | Lasso | LLC) else 3


def test_every_encoder_and_pooling(rng, make_layer, photos, encoder, pooling):
    layer = make_layer(rng, encoder=encoder, pooling=pooling.but(grid=[1, 2, (1, 3)]))
    ready = prepare(layer)
    assert isinstance(ready, FusedPass if is_fused(layer) else PlainPass)
    assert ready.pooled(photos[:3]).shape == (3, 8, pooling.width(20 * encoder.sides))
    assert_same(ready, photos[: few(encoder)])


@pytest.mark.parametrize(
    "encoder", [Threshold(0.25, two_sided=False), Threshold(0.25, two_sided=True), Triangle(), Nearest()], ids=repr
)
@pytest.mark.parametrize("how", [word for word in Pool.words if word != "auto"])
def test_what_has_a_fused_form_goes_through_the_fused_pass(rng, make_layer, encoder, how):
    assert isinstance(prepare(make_layer(rng, encoder=encoder, pooling=Pool(how, grid=2))), FusedPass)


SHAPES = [
    ((12, 19, 1), (3, 5), 1, (2, 3)),
    ((20, 11, 13), (4, 4), 2, 2),
    ((9, 9, 2), (9, 9), 1, 1),
    ((25, 30, 3), (5, 2), 3, (3, 1)),
]


@pytest.mark.parametrize("contrast", ["std", "variance", None])
@pytest.mark.parametrize(("shape", "size", "stride", "grid"), SHAPES)
@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_any_shape_patch_stride_and_contrast(rng, make_layer, encoder, shape, size, stride, grid, contrast, make_pass):
    images = rng.uniform(0, 255, size=(2, *shape)).astype(np.float32)
    images = images / 50 if contrast is None else images
    descriptor = Patches(size, stride, contrast)
    assert_same(
        make_pass(make_layer(rng, 7, shape=shape, descriptor=descriptor, encoder=encoder, pooling=Pool("average", grid=grid))),
        images,
    )


@pytest.mark.parametrize("rank", [1, 20, 107])
@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_any_rank(rng, make_layer, photos, encoder, rank, make_pass):
    assert_same(make_pass(make_layer(rng, 30, encoder=encoder, rank=rank)), photos[: min(2, few(encoder))])


def test_codes_turned_like_the_patches_respond_as_before(rng, make_layer, photos, encoder):
    """Whitened patches may be turned: what counts are scalar products and distances."""
    layer = make_layer(rng, encoder=encoder)
    Q = np.linalg.qr(rng.normal(size=(108, 108)))[0]
    turned = replace(layer, whitening=Whitening(layer.whitening.m, layer.whitening.W @ Q), codes=layer.codes @ Q)
    np.testing.assert_allclose(turned.features(photos[:2]), layer.features(photos[:2]), atol=1e-5)


@pytest.mark.parametrize("per_cell", [False, True])
@pytest.mark.parametrize("kind", ["nystrom", "pca", None])
@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_scale_and_projection(rng, make_layer, photos, encoder, per_cell, kind, make_pass):
    layer = with_scale_and_projection(make_layer(rng, encoder=encoder), rng, per_cell, kind)
    assert_same(make_pass(layer), photos[: few(encoder)])


@pytest.mark.parametrize("K", [64, 65, 700])
@pytest.mark.parametrize("two_sided", [False, True])
def test_more_codes_than_one_tile_holds(rng, make_layer, photos, K, two_sided):
    assert_same(prepare(make_layer(rng, K, encoder=Threshold(0.25, two_sided=two_sided))), photos[:1])


@pytest.mark.parametrize("how", ["max", "average"])
def test_triangle_where_codes_are_patches_themselves(rng, make_layer, photos, how):
    layer = make_layer(rng, encoder=Triangle(), pooling=Pool(how, grid=2))
    P = view_patches(photos[0].astype(np.float64), (6, 6))[::6, ::6].reshape(-1, 108)
    D = layer.whitening(normalize_contrast(P, "std", 10.0))[:20].astype(np.float32)
    assert_same(prepare(replace(layer, codes=D)), photos[:1])


@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_bright_images_without_contrast_normalisation_keep_their_digits(rng, make_layer, photos, make_pass):
    images = (60_000 + photos[:1].astype(np.float64) / 50).astype(np.float32)
    layer = make_layer(rng, 10, descriptor=Patches(contrast=None))
    white = Whitening(layer.whitening.m + 60_000, layer.whitening.W)
    assert_same(make_pass(replace(layer, whitening=white)), images)


@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_large_flat_bright_regions_keep_their_digits(rng, make_layer, make_pass):
    images = (250.0 + rng.normal(scale=0.01, size=(1, 40, 40, 3))).astype(np.float32)
    assert_same(make_pass(make_layer(rng, 10, shape=(40, 40, 3))), images)


@pytest.mark.parametrize("tile", [1, 10, 40, 200])
@pytest.mark.parametrize("how", ["average", "max", "rms", "both"])
@pytest.mark.parametrize("stride", [1, 2])
def test_tiles_of_positions_do_not_show(rng, make_layer, photos, monkeypatch, tile, how, stride):
    ready = prepare(make_layer(rng, 9, descriptor=Patches(stride=stride), pooling=Pool(how, grid=[2, 3])))
    whole = ready.pooled(photos[:2])
    monkeypatch.setattr(fused, "_POSITIONS_PER_TILE", tile)
    np.testing.assert_allclose(ready.pooled(photos[:2]), whole, atol=1e-5)
    for rows in (1, 5, 2000):
        np.testing.assert_allclose(replace(ready, rows=rows).pooled(photos[:2]), whole, atol=1e-5)


@pytest.mark.parametrize("shape", [(1024, 320), (9, 64)])
def test_both_shapes_of_products_give_the_same_features(make_layer, rng, photos, monkeypatch, shape):
    layer = make_layer(rng, 400)
    expected = prepare(layer).pooled(photos[:2])
    monkeypatch.setattr(fused, "product_tile", lambda inner: shape)
    np.testing.assert_allclose(prepare(layer).pooled(photos[:2]), expected, atol=1e-5)


def test_the_plain_pass_with_every_encoder_and_pooling(rng, make_layer, photos, encoder, pooling):
    assert_same(PlainPass(make_layer(rng, encoder=encoder, pooling=pooling.but(grid=[1, 2, (1, 3)]))), photos[: few(encoder)])


@pytest.mark.parametrize("rows", [1, 11])
def test_the_plain_pass_in_blocks_of_rows(rng, make_layer, photos, monkeypatch, encoder, pooling, rows):
    layer = make_layer(rng, encoder=encoder, pooling=pooling.but(grid=[2, 3, (1, 5)]))
    in_blocks = count_calls(encoder)
    monkeypatch.setattr(plain, "_BYTES_OF_ACTIVATIONS", 4 * 27 * layer.n_outputs * rows)
    assert_same(PlainPass(layer), photos[:1])
    features_of(PlainPass(replace(layer, encoder=in_blocks)), photos[:2])
    assert in_blocks.calls == 2 * -(-27 // rows)  # of 27 rows of positions in each of two images


def test_a_row_too_wide_for_a_block_is_taken_whole(rng, make_layer, photos, monkeypatch):
    monkeypatch.setattr(plain, "_BYTES_OF_ACTIVATIONS", 1)
    assert_same(PlainPass(make_layer(rng)), photos[:1])


def count_calls(encoder):
    """The encoder, and how often blocks of patches were encoded."""

    class Counting(type(encoder)):
        def prepared(self, D):
            encode = super().prepared(D)

            def counted(P):
                Counting.calls += 1
                return encode(P)

            return counted

    Counting.calls = 0
    return Counting(**encoder.get_params())


@dataclass(frozen=True, repr=False)
class Signed(Encoder):
    """An encoder with negative activations: the responses less a threshold, and no rectifier."""

    words = ("signed",)
    coupled = False

    def __call__(self, P, D):
        return P @ D.T - 1.5


@pytest.mark.parametrize("how", [word for word in Pool.words if word != "auto"])
@pytest.mark.parametrize("rows", [1, 4, 27])
def test_a_signed_encoder_is_pooled_without_a_rectifier(rng, make_layer, photos, monkeypatch, how, rows):
    layer = make_layer(rng, encoder=Signed(), pooling=Pool(how, grid=[1, (2, 3), 5]))
    monkeypatch.setattr(plain, "_BYTES_OF_ACTIVATIONS", 4 * 27 * layer.n_outputs * rows)
    ready = prepare(layer)
    assert isinstance(ready, PlainPass)
    assert_same(ready, photos[:3])
    X = ready.pooled(photos[:3])
    assert (X < 0).any() == (how != "rms")
    assert (X > 0).any() or how == "average"
    if how == "both":
        assert (X[..., :20] <= X[..., 20:] + 1e-5).all()


def test_a_signed_encoder_with_scale_and_projection(rng, make_layer, photos):
    layer = make_layer(rng, encoder=Signed(), pooling=Pool("max", grid=2))
    assert_same(prepare(with_scale_and_projection(layer, rng, True, "nystrom")), photos[:3])


@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
@pytest.mark.parametrize("blocks", [pooled_blocks, feature_blocks])
def test_blocks_and_threads_do_not_change_a_bit(rng, make_layer, photos, monkeypatch, make_pass, blocks):
    ready = make_pass(with_scale_and_projection(make_layer(rng, 33), rng, False, None))
    images = photos[:60] if make_pass is prepare else photos[:20]
    with Threads(1):  # holds BLAS to one thread: its own threads would round differently
        whole = ready.pooled(images) if blocks is pooled_blocks else features_of(ready, images)
    for n_jobs, block_bytes in [(1, 1 << 20), (2, 1), (4, 100_000)]:
        monkeypatch.setattr(extraction, "_BYTES_PER_BLOCK", block_bytes)
        out, done = np.empty_like(whole), [0]
        with Threads(n_jobs) as engine:
            for rows, X in blocks(ready, images, engine):
                out[rows] = X
                assert rows.start == done[-1]
                done.append(rows.stop)
        assert out.tobytes() == whole.tobytes()
        assert done[-1] == len(images)


def test_threads_do_not_change_a_bit_of_a_projection_and_blocks_hardly_any(rng, make_layer, photos, monkeypatch):
    """A row's rounding in a product depends on where in its panel of 16 it is, so other blocks may round differently."""
    ready = prepare(with_scale_and_projection(make_layer(rng, 33), rng, False, "nystrom"))
    found = {}
    for block_bytes in (1 << 20, 100_000):
        monkeypatch.setattr(extraction, "_BYTES_PER_BLOCK", block_bytes)
        for n_jobs in (1, 2, 4):
            with Threads(n_jobs) as engine:
                found[block_bytes, n_jobs] = np.concatenate([X for _, X in feature_blocks(ready, photos, engine)])
        assert len({X.tobytes() for (size, _), X in found.items() if size == block_bytes}) == 1
    np.testing.assert_allclose(found[1 << 20, 1], found[100_000, 1], atol=1e-5)


def test_blocks_hold_about_a_megabyte_of_pixels_and_outputs_together(rng, make_layer):
    for K, shape in [(9, (32, 32, 3)), (2000, (32, 32, 3)), (9, (512, 512, 13))]:
        layer = make_layer(rng, K, shape=shape)
        n = block_size(layer, shape)
        assert n == 1 or 4 * n * (np.prod(shape) + 2 * layer.n_features) <= 1 << 20
        assert 4 * (n + 1) * (np.prod(shape) + 2 * layer.n_features) > 1 << 20


@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_uint8_float32_and_float64_give_the_same(rng, make_layer, photos, make_pass):
    ready = make_pass(make_layer(rng, 9))
    a, b, c = (ready.pooled(photos[:2].astype(t)) for t in (np.uint8, np.float32, np.float64))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)
