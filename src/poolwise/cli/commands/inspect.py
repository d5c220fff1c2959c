"""`poolwise inspect`: what a model file holds."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.model import describe_model, load_model
from poolwise.cli.output import check_output, echo, print_json
from poolwise.support.files import replacing
from poolwise.support.progress import Stages
from poolwise.support.text import file_size

if TYPE_CHECKING:
    from poolwise.method.layer import Layer
    from poolwise.modelfile import Description

_BANDS_SHOWN = 6
_COLOURS = {1: "grey", 3: "colour"}
_POOLINGS = {"second_order": "second-order", "both": "average and max", "both_orders": "first- and second-order"}
_PROJECTIONS = {
    "nystrom": ", Nyström projection",
    "pca": ", projected by PCA",
    "direction": ", projected on {rows:,} directions a cell",
    None: "",
}
_SYMMETRIES = {
    None: "",
    "mirror": ", averaged over the image and its mirror image",
    "dihedral": ", averaged over the eight turns and mirrors of the image",
}


@click.command("inspect", context_settings=options.SETTINGS)
@options.model_file
@click.option("--codes", default=None, type=click.Path(dir_okay=False, path_type=Path), help="Draw the codes: NAME.png.")
@click.option(
    "--clusters",
    default=None,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw each code above the candidates that it represents: NAME.png.",
)
@options.as_json
def command(model: Path, codes: Path | None, clusters: Path | None, as_json: bool) -> None:
    """Show what MODEL is: parameters, sizes, cost per image, where it came from.

    Only the file's header is read, unless a picture is asked for.

    \b
    Examples:
      poolwise inspect photos.safetensors
      poolwise inspect photos.safetensors --codes codes.png --clusters clusters.png
      poolwise inspect photos.safetensors --json
    """
    for option, path in (("--codes", codes), ("--clusters", clusters)):
        if path is not None:
            check_output(path, (".png",), option, (model,))
    if codes is not None and codes == clusters:
        raise click.UsageError(f"--codes and --clusters are both {codes}; give them different names")
    description = describe_model(model)
    result = summarize(model, description)
    if clusters is not None:
        _check_has_clusters(model, description)
    if codes is not None or clusters is not None:
        _draw(model, codes, clusters)
        result["pictures"] = [str(path) for path in (codes, clusters) if path is not None]
    if as_json:
        print_json(result)
    else:
        _show(result, description.layer, part_lines(description))


def summarize(path: Path, description: "Description") -> dict[str, Any]:
    """What `--json` prints."""
    from poolwise.analysis.cost import cost_of
    from poolwise.modelfile.layer import to_json

    layer, classifier = description.layer, description.classifier
    learned = None if classifier is None else classifier["fitted"]
    result: dict[str, Any] = {
        "model": str(path),
        "kind": description.kind,
        "bytes": path.stat().st_size,
        "format": description.format,
        "slim": description.is_slim,
        "image_shape": list(layer.image_shape),
        "codes": len(layer.codes),
        "candidates": description.n_candidates,
        "features": description.n_features,
        "classes": None if learned is None else len(learned["classes"]["values"]),
        "multiply_adds": cost_of(
            *description.passes, classifier=None if learned is None else (learned["rows"], learned["features"])
        ),
        "parameters": description.parameters,
        "layers": [to_json(one) for one in (layer, *description.above)],
        "fitted": description.fitted,
        "bands": description.fitted.get("bands"),
        "statistics": layer.n_band_features,
        "nodata": description.parameters.get("nodata"),
        "classifier": None,
        "provenance": {"saved": description.saved, **description.provenance},
        "libraries": description.libraries,
    }
    if classifier is not None and learned is not None:
        result["classifier"] = {
            "estimator": classifier["estimator"],
            "classes": learned["classes"]["values"],
            **{name: learned.get(name) for name in ("gamma", "n_iter", "converged", "objective", "held_out")},
        }
    result["summary"] = _in_one_line(description, result["classes"])
    return result


def _in_one_line(description: "Description", classes: int | None) -> str:
    from poolwise.method.selection import WAYS

    layer, M = description.layer, description.n_candidates
    (H, W, c), (ph, pw), K = layer.image_shape, layer.descriptor.window(1, 1), len(layer.codes)
    kind = None if layer.projection is None else layer.projection.kind
    chosen = ""
    if M is not None and not layer.projects_all_codes:
        way = WAYS.get(description.chosen_by)
        chosen = f" selected from {M:,}" + ("" if way is None else f" by {way.title}")
    grids = " + ".join(f"{rows}×{columns}" for rows, columns in layer.pooling.grids)
    classifier = "" if classes is None else f", and a linear SVM for {classes:,} classes"
    pooling = _POOLINGS.get(layer.pooling.word, layer.pooling.word)
    projected = _PROJECTIONS[kind].format(rows=0 if layer.projection is None else len(layer.projection.T))
    bands = f", with {layer.n_band_features:,} statistics of bands" if layer.statistics is not None else ""
    maps = [(len(one.codes), *one.image_shape[:2]) for one in description.above]
    stacked = "".join(f"; above it {codes:,} codes on maps of {rows}×{columns}" for codes, rows, columns in maps)
    return (
        f"{description.n_features:,} features of {H}×{W} {_COLOURS.get(c, f'{c}-channel')} images: {K:,} codes of {ph}×{pw} "
        f"pixels{chosen}, {pooling} pooling over {grids} cells{_SYMMETRIES[layer.symmetry]}{projected}{bands}{stacked}"
        f"{classifier}"
    )


def _check_has_clusters(path: Path, description: "Description") -> None:
    from poolwise.modelfile import ModelFileError

    if description.n_candidates is None:
        raise ModelFileError(f"{path} was fitted without --candidates, so no code represents others; draw --codes instead")
    if description.is_slim:
        raise ModelFileError(
            f"{path} was saved with --slim, without its candidates; draw --codes instead, or fit without --slim"
        )
    if description.layer.projects_all_codes:
        raise ModelFileError(
            f"{path} keeps all its candidates (--projection pca), so no code represents others; draw --codes instead"
        )


def _draw(model: Path, codes: Path | None, clusters: Path | None) -> None:
    from poolwise.report import draw_clusters, draw_codes

    features, _ = load_model(model, None, Stages())
    features = getattr(features, "layers_", [features])[0]  # of a stack, the codes that see images
    for path, draw in ((codes, draw_codes), (clusters, draw_clusters)):
        if path is not None:
            with replacing(path) as temporary:
                draw(features).save(temporary, format="PNG")


def part_lines(description: "Description") -> dict[str, str]:
    """A line for each part: its word, and its parameters but for the one that the word is; then what is done with bands."""
    from poolwise.cli.spelling import option_value
    from poolwise.estimators import PooledFeatures
    from poolwise.method.recipe import FAMILIES
    from poolwise.modelfile.parameters import from_json

    asked, layer = from_json(PooledFeatures, description.parameters), description.layer
    fitted = {"descriptor": layer.descriptor, "encoder": layer.encoder, "pooling": layer.pooling}
    lines = {}
    for name, family in FAMILIES.items():
        part = fitted.get(name) or family.check(name, asked[name])
        values = {} if part is None else {key: value for key, value in part.get_params().items() if key != part.word_field}
        spelled = [
            f"{key.replace('_', ' ')} {option_value(value) or ('yes' if value else 'no')}" for key, value in values.items()
        ]
        lines[name] = ", ".join([part.word if part else "none", *spelled])
    per_cell = layer.n_band_features // layer.n_cells
    return lines | {
        "bands": _bands_line(description.fitted.get("bands")),
        "statistics": f"{per_cell:,} of bands in each cell" if per_cell else "none",
        "nodata": option_value(asked["nodata"]),
    }


def _bands_line(bands: list[list[float]] | None) -> str:
    """How each band is scaled; bands : gain and shift of each, or None."""
    if bands is None:
        return "as they are"
    shown = [f"{gain:.4g} x {'-' if shift < 0 else '+'} {abs(shift):.4g}" for gain, shift in bands[:_BANDS_SHOWN]]
    rest = len(bands) - len(shown)
    return f"scaled, {', '.join(shown)}{f' and {rest:,} more' if rest else ''}"


def _directions(layer: "Layer") -> str:
    """How many directions of patches a whitening with a rank keeps."""
    d, r = layer.whitening.W.shape
    return f" in {r:,} of {d:,} directions" if r < d else ""


def _show(result: dict[str, Any], layer: "Layer", parts: dict[str, str]) -> None:
    from poolwise.analysis.cost import has_matrix_functions
    from poolwise.images.errors import show
    from poolwise.method.symmetry import N_COPIES

    fitted, classifier, cost = result["fitted"], result["classifier"], result["multiply_adds"]
    rest = "" if fitted["converged"] else " (stopped by --max-iter)"
    rounds = f"{fitted['rounds']} rounds{rest}" if fitted["rounds"] else "no rounds"
    lines = {
        "file": f"{result['model']}, {file_size(result['bytes'])}, format {result['format']}{', slim' * result['slim']}",
        **parts,
        "dictionary": f"{parts['dictionary']}: {rounds} on {result['parameters']['n_patches']:,} patches",
        "sizes": f"{result['codes']:,} codes{_directions(layer)}, "
        + (f"{result['candidates']:,} candidates, " if result["candidates"] is not None else "")
        + f"{result['features']:,} features"
        + (f", {result['classes']:,} classes" if classifier else ""),
        "cost": f"{sum(cost.values()) / 1e6:,.1f} million multiply-adds per image: "
        + " + ".join(f"{name} {n:,}" for name, n in cost.items() if n)
        + f", for {N_COPIES[layer.symmetry]} copies of it" * (layer.symmetry is not None)
        + "; matrix roots or logarithms are not counted" * has_matrix_functions(layer.pooling),
    }
    if classifier:
        came = f"{'converged' if classifier['converged'] else 'NOT converged'} in {classifier['n_iter']} rounds"
        lines["classifier"] = f"{classifier['estimator']}, gamma {classifier['gamma']:.3g}, {came}"
        if classifier["held_out"] is not None:
            accuracy, error, _ = classifier["held_out"]
            lines["held out"] = f"{accuracy:.2%} ± {error:.2%} of its training images right, by models of others"
    lines["seconds"] = ", ".join(f"{name} {seconds:.1f}" for name, seconds in fitted["timings"].items())
    lines["libraries"] = ", ".join(f"{name} {version}" for name, version in result["libraries"].items())
    echo(f"{result['summary']}\n")
    for name, text in lines.items():
        echo(f"{name:<12}{text}")
    for name, value in result["provenance"].items():
        if value is not None and value is not False:
            echo(f"{show(name):<12}{show(str(value))}")  # a stranger's text must not steer the terminal
    for path in result.get("pictures", ()):
        echo(f"{'picture':<12}{path}")
