"""`poolwise card`: a README for sharing a model."""

from typing import Any

import click

from poolwise.cli import options
from poolwise.cli.commands.evaluate import evaluate
from poolwise.cli.commands.inspect import part_lines, summarize
from poolwise.cli.commands.report import check_alone
from poolwise.cli.model import describe_model, load_model, open_classifier, shared_provenance
from poolwise.cli.output import check_output, echo, text_file
from poolwise.cli.reading import Reading
from poolwise.support.progress import Stages


@click.command(
    "card", cls=options.SpellingCommand, spellings={"labels": "a card without IMAGES"}, context_settings=options.SETTINGS
)
@options.model_file
@options.images_if_any
@options.output("Where the card goes: NAME.md.  [default: stdout]", required=False)
@options.jobs
@options.quiet
@click.pass_context
def command(ctx: click.Context, /, **given_options: Any) -> None:
    """Write a model card: what MODEL is, what it was learned from, how good it is, its cost and limits, how to run it.

    With IMAGES that have labels, also how good it is on these. Markdown, for the README of a shared model; it names no path of
    this machine. IMAGES as in `poolwise fit`; of a data set the test part, unless another is named.

    \b
    Examples:
      poolwise card photos.safetensors
      poolwise card photos.safetensors photos/test -o README.md
      poolwise card cifar.safetensors cifar10 -o README.md
    """
    from poolwise.report.card import model_card

    model, output, n_jobs, quiet = (given_options[name] for name in ("model", "output", "n_jobs", "quiet"))
    if output is not None:
        check_output(output, (".md",), inputs=tuple(path for path in (model, given_options["images"]) if path is not None))
    stages, measured = Stages(not quiet), dict[str, Any]()
    if given_options["images"] is None:
        check_alone(ctx)
        description = describe_model(model)
        features, classifier = load_model(model, n_jobs, stages)
    else:
        reading = Reading.take(given_options)
        reading.check()
        description = describe_model(model, classifier=True)
        images, features, classifier = open_classifier(model, reading, stages, labels=True, output=output, n_jobs=n_jobs)
        measured = {
            "evaluation": evaluate(features, classifier, images, stages, reading.images),
            "evaluated_on": None if reading.named is None else str(reading.named),
            "is_learned_from": description.provenance.get("source") == reading.source,
        }
    card = model_card(
        model.name,
        summarize(model, description),
        part_lines(description),
        shared_provenance(description),
        refused=_why_not(features, classifier),
        **measured,
    )
    with text_file(output) as file:
        file.write(card)
    if output is not None:
        echo(f"{output}: {len(card.splitlines())} lines; add what you know of the images")


def _why_not(features: Any, classifier: Any) -> dict[str, str | None]:
    """By the ending of a file that `poolwise export` writes: why there is none of the model, or None."""
    from sklearn.pipeline import make_pipeline

    from poolwise.export.page import check_page
    from poolwise.export.writing import check_graph

    model = features if classifier is None else make_pipeline(features, classifier)
    found: dict[str, str | None] = {}
    for ending, check in ((".onnx", check_graph), (".html", check_page)):
        try:
            check(model)
            found[ending] = None
        except ValueError as error:
            found[ending] = str(error)
    return found
