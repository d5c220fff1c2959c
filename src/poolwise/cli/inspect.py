"""`poolwise inspect`: what a model file holds."""

from pathlib import Path
from typing import Any

import click

from poolwise.atomic import replacing
from poolwise.cli import options
from poolwise.cli.model import describe_model, draw_clusters, load_model
from poolwise.cli.output import check_output, print_json
from poolwise.progress import Stages

_SELECTED_BY = {
    "affinity": "affinity propagation",
    "kmedoids": "K-medoids",
    "greedy": "greedy selection",
    "cholesky": "pivoted Cholesky",
    "random": "chance",
    "authors": "the authors' affinity propagation",
}
_COLOURS = {1: "grey", 3: "colour"}
_TRANSFORMS = {"nystrom": ", Nyström transform", "pca": ", projected by PCA", None: ""}


@click.command("inspect", context_settings=options.SETTINGS)
@options.model_file
@click.option("--codes", default=None, type=click.Path(dir_okay=False, path_type=Path), help="Draw the codes: NAME.png.")
@click.option(
    "--clusters",
    default=None,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw each code above the candidates that it stands for: NAME.png.",
)
@options.as_json
def command(model: Path, codes: Path | None, clusters: Path | None, as_json: bool) -> None:
    """Tell what MODEL is: parameters, sizes, cost per image, where it came from.

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
        _show(result)


def summarize(path: Path, description: dict[str, Any]) -> dict[str, Any]:
    """What `--json` prints."""
    from poolwise.modelfile.features import n_outputs
    from poolwise.report.cost import multiply_adds

    part = description["parts"]["features"]
    fitted, classifier = part["fitted"], description["parts"].get("classifier")
    (H, W, c), (ph, pw) = fitted["image_shape"], fitted["patch_size"]
    shape = None if classifier is None else (classifier["fitted"]["rows"], classifier["fitted"]["features"])
    cells = sum(rows * columns for rows, columns in fitted["grids"])
    K, features = fitted["codes"], n_outputs(part)
    result = {
        "model": str(path),
        "kind": description["kind"],
        "bytes": path.stat().st_size,
        "format": description["format"],
        "slim": part["slim"],
        "image_shape": fitted["image_shape"],
        "codes": K,
        "candidates": fitted["candidates"],
        "features": features,
        "classes": None,
        "multiply_adds": multiply_adds(
            (H, W, c), (ph, pw), fitted["stride"], K, cells, 2 if fitted["two_sided"] else 1, fitted["projected"], shape
        ),
        "parameters": part["parameters"],
        "fitted": fitted,
        "classifier": None,
        "provenance": {"saved": description["provenance"]["saved"], **description["provenance"]["told"]},
        "libraries": description["libraries"],
    }
    if classifier is not None:
        learned = classifier["fitted"]
        result["classes"] = len(learned["classes"]["values"])
        result["classifier"] = {
            "estimator": classifier["estimator"],
            "classes": learned["classes"]["values"],
            **{name: learned[name] for name in ("gamma", "n_iter", "converged", "objective")},
        }
    result["summary"] = _in_one_line(result)
    return result


def _in_one_line(result: dict[str, Any]) -> str:
    fitted = result["fitted"]
    (H, W, c), (ph, pw), K, M = (fitted[name] for name in ("image_shape", "patch_size", "codes", "candidates"))
    chosen = ""
    if M is not None and fitted["transform"] != "pca":
        chosen = f" selected from {M:,} by {_SELECTED_BY.get(result['parameters']['selection'], 'selection')}"
    grids = " + ".join(f"{rows}×{columns}" for rows, columns in fitted["grids"])
    classes = f", and a linear SVM for {result['classes']:,} classes" if result["classes"] is not None else ""
    return (
        f"{result['features']:,} features of {H}×{W} {_COLOURS.get(c, f'{c}-channel')} images: {K:,} codes of {ph}×{pw} "
        f"pixels{chosen}, {fitted['pool']} pooling over {grids} cells{_TRANSFORMS[fitted['transform']]}{classes}"
    )


def _check_has_clusters(path: Path, description: dict[str, Any]) -> None:
    from poolwise.modelfile import ModelFileError

    part = description["parts"]["features"]
    if part["fitted"]["candidates"] is None:
        raise ModelFileError(f"{path} was fitted without --candidates, so no code stands for others; draw --codes instead")
    if part["slim"]:
        raise ModelFileError(
            f"{path} was saved with --slim, without its candidates; draw --codes instead, or fit without --slim"
        )
    if part["fitted"]["transform"] == "pca":
        raise ModelFileError(f"{path} keeps all its candidates (--transform pca), none for others; draw --codes instead")


def _draw(model: Path, codes: Path | None, clusters: Path | None) -> None:
    from poolwise.report import code_mosaic

    features, _ = load_model(model, None, Stages())
    if codes is not None:
        shape = (*features.patch_size_, features.image_shape_in_[2])
        with replacing(codes) as temporary:
            code_mosaic(features.codes_, shape).save(temporary, format="PNG")
    if clusters is not None:
        with replacing(clusters) as temporary:
            draw_clusters(features).save(temporary, format="PNG")


def _show(result: dict[str, Any]) -> None:
    from poolwise.images.errors import show

    fitted, classifier, cost = result["fitted"], result["classifier"], result["multiply_adds"]
    encoder = fitted["encoder"]
    if encoder == "threshold":
        encoder += f" {fitted['alpha']:g}, {'two' if fitted['two_sided'] else 'one'}-sided"
    rest = "" if fitted["converged"] else ", stopped by --max-iter"
    rounds = f"{fitted['rounds']} rounds{rest}" if fitted["rounds"] else "no rounds"
    parameters = result["parameters"]
    lines = {
        "file": f"{result['model']}, {result['bytes'] / 1e6:.1f} MB, format {result['format']}{', slim' * result['slim']}",
        "dictionary": f"{parameters['dictionary']}, {parameters['n_patches']:,} patches, {rounds}",
        "patches": f"contrast {fitted['contrast'] or 'none'}, whitening {parameters['whitening'] or 'none'}, "
        f"stride {fitted['stride']}",
        "encoder": encoder,
        "sizes": f"{result['codes']:,} codes, "
        + (f"{result['candidates']:,} candidates, " if result["candidates"] is not None else "")
        + f"{result['features']:,} features"
        + (f", {result['classes']:,} classes" if classifier else ""),
        "cost": f"{sum(cost.values()) / 1e6:,.1f} million multiply-adds per image: "
        + " + ".join(f"{name} {n:,}" for name, n in cost.items() if n),
    }
    if classifier:
        came = f"{'converged' if classifier['converged'] else 'NOT converged'} in {classifier['n_iter']} rounds"
        lines["classifier"] = f"{classifier['estimator']}, gamma {classifier['gamma']:.3g}, {came}"
    lines["seconds"] = ", ".join(f"{name} {seconds:.1f}" for name, seconds in fitted["timings"].items())
    lines["libraries"] = ", ".join(f"{name} {version}" for name, version in result["libraries"].items())
    click.echo(f"{result['summary']}\n")
    for name, text in lines.items():
        click.echo(f"{name:<12}{text}")
    for name, value in result["provenance"].items():
        if value is not None and value is not False:
            click.echo(f"{show(name):<12}{show(str(value))}")  # a stranger's text must not steer the terminal
    for path in result.get("pictures", ()):
        click.echo(f"{'picture':<12}{path}")
