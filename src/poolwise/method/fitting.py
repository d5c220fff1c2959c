"""A fit: the stages of `learning` in their order, and what is kept of each, so that a fit that was interrupted goes on.

images : (n, H, W, c)    M : codes that K-means learns, K or the number of candidates

A stage that is known is not computed again; what it has drawn from the random generator is drawn all the same. What is kept
are numbers alone: parts and settings come from the recipe.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poolwise.engine import Engine
from poolwise.method.band_statistics import learn_band_scale
from poolwise.method.candidates import Candidates, Statistics
from poolwise.method.dictionaries import Dictionary
from poolwise.method.extraction import extract, prepare
from poolwise.method.layer import Layer
from poolwise.method.learning import (
    check_directions,
    layer_of_codes,
    learn_candidates,
    learn_codes,
    learn_outputs,
    learn_with_targets,
    of_first_order,
)
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import Pooling
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Scale
from poolwise.method.selection.choosing import Propagation, Selection
from poolwise.method.selection.supervised import Labelled
from poolwise.method.sizes import check_fit
from poolwise.method.suiting import suiting_pooling
from poolwise.method.symmetry import SymmetryName
from poolwise.method.whitening import Whitening
from poolwise.support.parameters import AUTO
from poolwise.support.progress import Stages
from poolwise.support.steps import CheckpointError, Kept, Shapes, current, set_state, state_of
from poolwise.support.types import Array, ImageSource

_MESSAGES = ("preference", "damping", "converged", "oscillations", "tries", "merges", "splits", "swaps")


@dataclass(frozen=True)
class Learned:
    """What a fit gives.

    candidates, selection : None where nothing is selected    dictionary : how K-means went
    features : (n, n_features) float32 of the images, if they were asked for
    """

    layer: Layer
    candidates: Candidates | None
    selection: Selection | None
    dictionary: Dictionary
    features: Array | None


def learn(
    recipe: Recipe,
    images: Array | ImageSource,
    *,
    seed: int,
    keep_features: bool,
    targets: Array | None = None,
    engine: Engine,
    stages: Stages,
) -> Learned:
    """All stages. `recipe` was checked, decided and fitted to the images. Without candidates each image is encoded once.

    targets : (n, t) numbers that selection with labels must predict, and an open pooling is chosen by
    """
    rng = np.random.default_rng(seed)
    check_directions(recipe)
    check_fit(recipe, images.shape, with_targets=targets is not None, keep_features=keep_features, local=engine.shares_memory)
    asked, positions = recipe, recipe.descriptor.positions(images.shape[1:3])
    recipe = replace(
        recipe,
        pooling=asked.poolings(positions)[0].fitted_to(positions),
        symmetry=None if asked.symmetry == AUTO else asked.symmetry,
    )
    learned, layer = _codes(recipe, images, rng=rng, engine=engine, stages=stages)
    if asked.is_open and targets is not None:
        pooling, symmetry = _pooling(asked, layer, images, targets, engine=engine, stages=stages)
        recipe = replace(recipe, pooling=pooling.fitted_to(positions), symmetry=symmetry)
        unknown = Scale.none(pooling.n_cells, pooling.width(layer.n_outputs))
        layer = replace(layer, pooling=recipe.pooling, scale=unknown, symmetry=symmetry)
    if recipe.statistics:
        layer = replace(layer, statistics=_bands(recipe, layer, images, engine=engine, stages=stages))
    if recipe.n_candidates is None:
        layer, features = _outputs(recipe, layer, images, keep_features, seed, targets, engine, stages)
        return Learned(layer, None, None, learned, features)
    candidates = _candidates(recipe, layer, images, targets, seed=seed, rng=rng, engine=engine, stages=stages)
    layer, selection = _choice(recipe, candidates, engine=engine, stages=stages)
    if candidates.pooling is not None or (layer.encoder.coupled and len(layer.codes) < len(candidates.codes)):
        layer, features = _outputs(recipe, layer, images, keep_features, seed, targets, engine, stages)
    else:
        features = extract(prepare(layer), images, engine=engine, stages=stages) if keep_features else None
    return Learned(layer, candidates, selection, learned, features)


def _known(name: str, shapes: Shapes, stages: Stages) -> Kept | None:
    """A step; its stages count with the seconds that they took."""
    known = current().load(name, shapes)
    if known is not None:
        for stage, seconds in zip(known.fact("stages", list), known.fact("seconds", list), strict=False):
            stages.seconds[str(stage)] = float(seconds)
    return known


def _keep(name: str, arrays: dict[str, Array], facts: dict[str, Any], stages: Stages, ends: str = "") -> None:
    times = {"stages": list(stages.seconds), "seconds": list(stages.seconds.values())}
    current().save(name, arrays, {**facts, **times}, ends=ends)


def _codes(
    recipe: Recipe, images: Array | ImageSource, *, rng: np.random.Generator, engine: Engine, stages: Stages
) -> tuple[Dictionary, Layer]:
    """`learn_codes`."""
    d = recipe.descriptor.dimension(images.shape[3])
    M = recipe.n_codes if recipe.n_candidates is None else int(recipe.n_candidates)
    shapes = {"mean": ("float64", (d,)), "matrix": ("float64", (d, None)), "codes": ("float32", (M, None))}
    more = {"objective": ("float64", (None,)), "pictures": ("uint8", (M, None, None, 3))}
    known = _known("codes", {**shapes, **more}, stages)
    if known is None:
        learned, layer = learn_codes(recipe, images, rng=rng, engine=engine, stages=stages)
        arrays = {"mean": layer.whitening.m, "matrix": layer.whitening.W, "codes": layer.codes}
        arrays["objective"] = np.array(learned.objective, np.float64)
        if layer.pictures is not None:
            arrays["pictures"] = layer.pictures
        facts = {"n_iter": learned.n_iter, "converged": bool(learned.converged), "random": state_of(rng)}
        _keep("codes", arrays, facts, stages, ends="rounds")
        return learned, layer
    set_state(rng, known.fact("random", list))
    codes, whitening = known["codes"], Whitening(known["mean"], known["matrix"])
    if codes.shape[1] != whitening.W.shape[1]:
        raise CheckpointError("a checkpoint has codes that its whitening does not fit; remove its folder, and fit again")
    learned = Dictionary(codes, known["objective"].tolist(), known.fact("n_iter", int), known.fact("converged", bool))
    return learned, replace(layer_of_codes(recipe, images, whitening, codes), pictures=known.arrays.get("pictures"))


def _pooling(
    asked: Recipe, layer: Layer, images: Array | ImageSource, targets: Array, *, engine: Engine, stages: Stages
) -> tuple[Pooling, SymmetryName]:
    """`suiting_pooling`."""
    choices = asked.poolings(layer.positions)
    known = _known("pooling", {}, stages)
    if known is not None:
        number, mirror = known.fact("choice", int), known.fact("symmetry", str, type(None))
        if 0 <= number < len(choices) and mirror in (None, "mirror", "dihedral"):
            return choices[number], mirror
        raise CheckpointError("a checkpoint has a pooling that is not to choose from; remove its folder, and fit again")
    with stages.stage("pooling by labels") as update:
        pooling, symmetry = suiting_pooling(asked, layer, images, targets, engine=engine, update=update)
    _keep("pooling", {}, {"choice": choices.index(pooling), "symmetry": symmetry}, stages)
    return pooling, symmetry


def _bands(recipe: Recipe, layer: Layer, images: Array | ImageSource, *, engine: Engine, stages: Stages) -> Scale:
    """`learn_band_scale`."""
    numbers = 4 * images.shape[3]
    shape = (numbers,) if recipe.scale is None or recipe.scale.form == "shared" else (layer.n_cells, numbers)
    known = _known("bands", {"mean": ("float64", shape), "spread": ("float64", shape)}, stages)
    if known is not None:
        return Scale(known["mean"], known["spread"])
    found = learn_band_scale(images, layer.pooling.grids, layer.symmetry, recipe.scale, engine=engine, stages=stages)
    _keep("bands", {"mean": found.mean, "spread": found.spread}, {}, stages)
    return found


def _scale_shape(recipe: Recipe, layer: Layer) -> tuple[int, ...]:
    width = layer.pooling.width(layer.n_outputs)
    return (width,) if recipe.scale is not None and recipe.scale.form == "shared" else (layer.n_cells, width)


def _outputs(
    recipe: Recipe,
    layer: Layer,
    images: Array | ImageSource,
    keep_features: bool,
    seed: int,
    targets: Array | None,
    engine: Engine,
    stages: Stages,
) -> tuple[Layer, Array | None]:
    """`learn_outputs`; features are not kept, but computed again."""
    shape = _scale_shape(recipe, layer)
    rows = layer.pooling.directions_kept(layer.n_outputs)
    shapes: Any = {"mean": ("float64", shape), "spread": ("float64", shape)}
    if rows is not None:
        shapes["directions"] = ("float32", (rows, layer.pooling.width(layer.n_outputs)))
    known = _known("outputs", shapes, stages)
    if known is None:
        layer, features = learn_outputs(
            recipe, layer, images, keep_features, seed=seed, targets=targets, engine=engine, stages=stages
        )
        more = {} if rows is None or layer.projection is None else {"directions": layer.projection.T}
        _keep("outputs", {"mean": layer.scale.mean, "spread": layer.scale.spread, **more}, {}, stages)
        return layer, features
    layer = replace(layer, scale=Scale(known["mean"], known["spread"]))
    if rows is not None:
        layer = replace(layer, projection=Projection("direction", known["directions"]))
    return layer, extract(prepare(layer), images, engine=engine, stages=stages) if keep_features else None


def _candidates(
    recipe: Recipe,
    layer: Layer,
    images: Array | ImageSource,
    targets: Array | None,
    *,
    seed: int,
    rng: np.random.Generator,
    engine: Engine,
    stages: Stages,
) -> Candidates:
    """`learn_candidates`, or `learn_with_targets` for selection by labels."""
    by_labels = targets is not None and recipe.selects_by_labels
    first, pooling = of_first_order(layer)
    shape, C = _scale_shape(recipe, first), len(first.codes) if by_labels else first.n_outputs
    shapes: Any = {"mean": ("float64", shape), "spread": ("float64", shape), "covariance": ("float64", (C, C))}
    if targets is not None and by_labels:
        shapes |= {"gram": ("float32", (None, None)), "products": ("float64", (None, targets.shape[1]))}
    known = _known("candidates", shapes, stages)
    if known is not None:
        labelled = None
        if by_labels:
            labelled = Labelled(known["gram"], known["products"], known.fact("variance", float), known.fact("images", int))
        statistics = Statistics(known["covariance"], known.fact("samples", int), labelled)
        return Candidates(replace(first, scale=Scale(known["mean"], known["spread"])), statistics, seed, pooling)
    if targets is not None and by_labels:
        found = learn_with_targets(recipe, layer, images, targets, seed=seed, engine=engine, stages=stages)
    else:
        found = learn_candidates(recipe, layer, images, seed=seed, rng=rng, engine=engine, stages=stages)
    scale, statistics = found.layer.scale, found.statistics
    arrays = {"mean": scale.mean, "spread": scale.spread, "covariance": statistics.covariance}
    facts: dict[str, Any] = {"samples": int(statistics.n)}
    if statistics.labelled is not None:
        arrays |= {"gram": statistics.labelled.gram, "products": statistics.labelled.products}
        facts |= {"variance": float(statistics.labelled.variance), "images": int(statistics.labelled.n)}
    _keep("candidates", arrays, facts, stages)
    return found


def _choice(recipe: Recipe, candidates: Candidates, *, engine: Engine, stages: Stages) -> tuple[Layer, Selection | None]:
    """`Candidates.choose`."""
    M = len(candidates.codes)
    whole: Any = dict.fromkeys(("selected", "label", "exemplars", "message_label"), ("int64", (None,)))
    known = _known("choice", {**whole, "net_similarity": ("float64", (None,)), "projection": ("float64", (None, None))}, stages)
    if known is None:
        layer, selection = candidates.choose(
            recipe.n_codes, recipe.selection, recipe.projection, engine=engine.local, stages=stages
        )
        _keep("choice", *_packed(layer, selection), stages)
        return layer, selection
    kind, found = known.fact("projection", str, type(None)), None
    projection = None if kind is None else Projection(_kind(kind), known["projection"])
    selected = known["selected"] if known.fact("selects", bool) else np.arange(M)
    if not ((selected >= 0) & (selected < M)).all():
        raise CheckpointError("a checkpoint selects codes that are not there; remove its folder, and fit again")
    if known.fact("selects", bool):
        messages = None
        if "net_similarity" in known.arrays:
            facts = {name: known.fact(name, int, float, bool) for name in _MESSAGES}
            rounds = known["net_similarity"].tolist()
            messages = Propagation(known["exemplars"], known["message_label"], net_similarity=rounds, **facts)
        found = Selection(selected, M, known["label"], messages)
    return candidates.kept(selected, projection), found


def _kind(word: str) -> Any:
    if word not in ("nystrom", "pca"):
        raise CheckpointError(f"a checkpoint has a projection {word!r}; remove its folder, and fit again")
    return word


def _packed(layer: Layer, selection: Selection | None) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays, facts = dict[str, Array](), dict[str, Any](selects=selection is not None, projection=None)
    if layer.projection is not None:
        arrays["projection"], facts["projection"] = layer.projection.T, layer.projection.kind
    if selection is None:
        return arrays, facts
    arrays["selected"] = selection.selected.astype(np.int64)
    if selection.label is not None:
        arrays["label"] = selection.label.astype(np.int64)
    messages = selection.propagation
    if messages is not None:
        arrays |= {"exemplars": messages.exemplars.astype(np.int64), "message_label": messages.label.astype(np.int64)}
        arrays["net_similarity"] = np.array(messages.net_similarity, np.float64)
        values = {name: getattr(messages, name) for name in _MESSAGES}
        facts |= {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    return arrays, facts
