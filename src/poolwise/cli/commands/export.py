"""`poolwise export`: a model as a file that runs without Python."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.model import describe_model, load_model
from poolwise.cli.output import check_output, check_report, print_json
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.modelfile import Description


@click.command("export", context_settings=options.SETTINGS)
@options.model_file
@options.output("Where it goes: NAME.html, a page that runs the model in a browser.")
@click.option("--title", default=None, help="Heading of the page.  [default: the model's file name]")
@options.as_json
@options.quiet
def command(model: Path, output: Path, title: str | None, as_json: bool, quiet: bool) -> None:
    """Write MODEL as a file that runs without Python.

    A page is one HTML file with the whole model inside, which asks no server for anything. It shows label and margins of
    pictures that are dropped on it, chosen, pasted or taken from the camera, the codes that fired, and where.

    \b
    Examples:
      poolwise export photos.safetensors -o page.html
      poolwise export photos.safetensors -o page.html --title "Cats and dogs"
    """
    check_output(output, tuple(_WRITERS), inputs=(model,))
    description = describe_model(model)
    features, classifier = load_model(model, None, Stages(not quiet))
    _WRITERS[output.suffix.lower()](features, classifier, output, description, title or model.stem)
    result = {"file": str(output), "bytes": output.stat().st_size}
    if as_json:
        print_json(result)
    else:
        click.echo(f"{output}: {output.stat().st_size / 1e6:.2f} MB; open it in a browser")


def _write_page(features: Any, classifier: Any, output: Path, description: "Description", title: str) -> None:
    """Pictures are cut as those of the fit were; if these all had the model's size, to their middle."""
    from sklearn.pipeline import make_pipeline

    from poolwise.export import export_page

    check_report(output, "--output")
    known = description.provenance
    crop = known.get("crop") is True or known.get("resize") is None
    export_page(features if classifier is None else make_pipeline(features, classifier), output, title=title, crop=crop)


_WRITERS: dict[str, Callable[..., None]] = {".html": _write_page, ".htm": _write_page}
