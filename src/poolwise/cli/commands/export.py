"""`poolwise export`: a model for programs that know nothing of poolwise."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from poolwise.cli import options
from poolwise.cli.model import describe_model, load_model, shared_provenance
from poolwise.cli.output import check_output, echo, print_json
from poolwise.support.progress import Stages
from poolwise.support.text import file_size


class Writer(NamedTuple):
    """How a kind of file is written.

    write : of a pipeline or features, the output, provenance that may leave the machine, and the values of `options`; gives
    what `--json` adds    options : those that only this kind has, by name    needs : the package and the extra that bring it
    """

    write: Callable[[Any, Path, Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]
    options: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None


def _write_onnx(model: Any, path: Path, provenance: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    import onnx

    from poolwise import export_onnx

    layout, dtype = given["layout"].upper(), given["dtype"]
    export_onnx(model, path, layout=layout, dtype=dtype, resize=given["resize"], provenance=provenance)
    graph = onnx.load(path).graph
    return {
        "input": {one.name: _shape(one) for one in graph.input},
        "outputs": {one.name: _shape(one) for one in graph.output},
        "dtype": dtype,
        "layout": layout,
    }


def _shape(value: Any) -> list[Any]:
    return [one.dim_param or one.dim_value for one in value.type.tensor_type.shape.dim]


def _write_page(model: Any, path: Path, provenance: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Pictures are cut as those of the fit were; if these all had the model's size, to their middle."""
    from poolwise import export_page

    crop = provenance.get("crop") is True or provenance.get("resize") is None
    export_page(model, path, title=given["title"] or given["model"].stem, crop=crop)
    return {}


_PAGE = Writer(_write_page, ("title",), ("jinja2", "report"))
WRITERS = {  # by the ending of the output
    ".onnx": Writer(_write_onnx, ("layout", "dtype", "resize"), ("onnx", "onnx")),
    ".html": _PAGE,
    ".htm": _PAGE,
}


@click.command("export", context_settings=options.SETTINGS)
@options.model_file
@options.output(f"Where it goes: {' or '.join(f'NAME{ending}' for ending in WRITERS)}.")
@click.option("--features-only", is_flag=True, help="Leave the classifier out.")
@click.option(
    "--layout",
    default="nchw",
    show_default=True,
    type=click.Choice(["nchw", "nhwc"]),
    help="Of images: channels before height and width, or behind.",
)
@click.option(
    "--dtype",
    default="uint8",
    show_default=True,
    type=click.Choice(["uint8", "float32"]),
    help="Of pixels, not divided by 255.",
)
@click.option(
    "--resize",
    default=None,
    type=options.Pair(),
    help="Take images of this size, and resize them inside.  [default: the model's size]",
)
@click.option("--title", default=None, help="Heading of the page.  [default: the model's file name]")
@options.as_json
@options.quiet
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Write MODEL as a file that runs without poolwise.

    An .onnx file goes from pixels to features, margins and labels in one graph, for ONNX Runtime in any language. A page is one
    HTML file with the whole model inside, which asks no server for anything: it shows label and margins of pictures that are
    dropped on it, chosen, pasted or taken from the camera, the codes that fired, and where. Neither holds a path of this
    machine or a user's name.

    \b
    Examples:
      poolwise export photos.safetensors -o photos.onnx
      poolwise export photos.safetensors -o photos.onnx --layout nhwc --resize 480x640
      poolwise export photos.safetensors -o features.onnx --features-only --dtype float32
      poolwise export photos.safetensors -o page.html --title "Cats and dogs"
    """
    model, output = given["model"], given["output"]
    check_output(output, tuple(WRITERS), inputs=(model,))
    ending = next(ending for ending in WRITERS if output.name.lower().endswith(ending))
    writer = WRITERS[ending]
    _check_options(ctx, ending)
    if writer.needs is not None and find_spec(writer.needs[0]) is None:
        package, extra = writer.needs
        raise click.UsageError(f"{ending} needs {package}, which is not installed: pip install 'poolwise[{extra}]'")
    if isinstance(given["resize"], int):
        given["resize"] = (given["resize"], given["resize"])
    description = describe_model(model)
    stages = Stages(not given["quiet"])
    features, classifier = load_model(model, None, stages)
    with stages.stage("export"):
        added = writer.write(_joined(features, classifier, given), output, shared_provenance(description), given)
    with_classifier = classifier is not None and not given["features_only"]
    result = {"output": str(output), "bytes": output.stat().st_size, "classifier": with_classifier, **added}
    if given["as_json"]:
        print_json(result)
    else:
        echo(f"{output}: {file_size(result['bytes'])}" + "; open it in a browser" * (writer is _PAGE))
        for name, shape in {**result.get("input", {}), **result.get("outputs", {})}.items():
            echo(f"  {name:<14}{' × '.join(map(str, shape))}")


def _joined(features: Any, classifier: Any, given: Mapping[str, Any]) -> Any:
    from sklearn.pipeline import make_pipeline

    return features if classifier is None or given["features_only"] else make_pipeline(features, classifier)


def _check_options(ctx: click.Context, ending: str) -> None:
    """Options of one kind of file are a mistake for another."""
    for other, writer in WRITERS.items():
        for name in writer.options:
            if name not in WRITERS[ending].options and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise click.UsageError(f"--{name.replace('_', '-')} is for {other}; the output is {ending}")
