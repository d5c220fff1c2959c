"""`poolwise plan`: how good and how costly larger dictionaries would be, predicted from small ones."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from poolwise.cli import options
from poolwise.cli.commands.evaluate import numbers_of
from poolwise.cli.commands.fit import estimators
from poolwise.cli.names import as_name
from poolwise.cli.output import check_output, echo, print_json, say
from poolwise.cli.parameters import given, other_parameters
from poolwise.cli.reading import Reading, say_shape
from poolwise.cli.spelling import in_options
from poolwise.method.pooling import SecondOrder
from poolwise.method.recipe import PARAMETERS
from poolwise.method.selection import WAYS
from poolwise.support.files import replacing
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolwise.estimators import PooledFeatures
    from poolwise.images import Images
    from poolwise.method.pooling import Pooling
    from poolwise.planning.measuring import Curve, Task

_GAMMA = 0.005  # the same for all sizes, so that their law is not one of γ

_ANY_POSITIONS = (1 << 20, 1 << 20)  # so many that every grid fits


@click.command(
    "plan",
    cls=options.SpellingCommand,
    spellings={"labels": "`poolwise fit --classifier none`"},
    context_settings=options.SETTINGS,
)
@options.output("Where the plot goes: NAME.png.  [default: no plot]", required=False)
@click.option(
    "--sizes",
    default="25,50,100,200",
    show_default=True,
    type=options.Counts(),
    help="Numbers of codes to measure; at least three.",
)
@click.option(
    "--predict", default="400,800,1600,3200", show_default=True, type=options.Counts(), help="Numbers of codes to predict."
)
@click.option(
    "--runs",
    default=2,
    show_default=True,
    type=click.IntRange(1, 100),
    metavar="N",
    help="Dictionaries of each size, with a seed each.",
)
@click.option(
    "--holdout",
    default=None,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="F",
    help="Share of each class's images to test on.  [default: 0.25]",
)
@click.option("--test", default=None, type=click.Path(path_type=Path), help="Images to test on, instead of --holdout.")
@click.option("--test-member", default=None, help="Which array of --test, a .npz file.")
@click.option("--no-candidates", is_flag=True, help="K-means alone, without PDL of four times as many candidates.")
@options.preset
@options.gamma(f"{_GAMMA}")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31), metavar="N", help="Same seed, same accuracies."
)
@options.jobs
@options.as_json
@options.quiet
@options.images_to_fit
@other_parameters
@click.pass_context
def command(ctx: click.Context, /, **given_options: Any) -> None:
    """Predict accuracy and cost of larger dictionaries from small ones, on your labelled IMAGES.

    Fits small dictionaries and a linear classifier to a part of IMAGES, tests them on the rest, and fits the law
    accuracy = a + b K^(-1/4) to what it measured. Shows for each number of codes K the accuracy, the features, and the
    milliseconds and bytes per image.

    \b
    Examples:
      poolwise plan photos/train --test photos/test
      poolwise plan photos -o plan.png --resize 96x96 --crop --sizes 50,100,200,400 --runs 3
      poolwise plan data.npz --member x_train --no-candidates --json --quiet
    """
    reading, changes = Reading.take(given_options, part="train"), given(ctx, given_options)
    output, quiet, seed = (given_options[name] for name in ("output", "quiet", "seed"))
    _check(reading, given_options)
    if given_options["no_candidates"]:
        _check_without_candidates(changes)
    if output is not None:
        check_output(output, (".png",), inputs=(reading.images,))
        _check_matplotlib()
    changes |= {"n_codes": 1, "n_jobs": given_options["n_jobs"], "verbose": 0}  # each dictionary has its own number of codes
    gamma = _GAMMA if given_options["gamma"] is None else given_options["gamma"]
    features, svm = estimators(ctx.command, given_options["preset"], changes, "svm", gamma)
    reading = replace(reading, nodata=features.recipe.nodata)
    _check_patches(features.n_patches, given_options["sizes"][-1], not given_options["no_candidates"])
    if not given_options["no_candidates"]:
        _check_with_candidates(ctx.command, features, given_options["sizes"][-1])
    stages = Stages(not quiet, "plan ")
    task, classes = _open(reading, given_options, stages)

    from poolwise.planning.measuring import doubts, measure

    sizes, candidates = given_options["sizes"], not given_options["no_candidates"]
    predict, too_large = _that_fit(ctx, features, len(task.train))
    seeds = range(seed, seed + given_options["runs"])
    assert svm is not None  # noqa: S101  it is None for "none" alone
    with stages.stage("dictionaries", len(sizes) * len(seeds) * (1 + candidates)) as update:
        curves = measure(task, features, svm, sizes, seeds, candidates=candidates, update=update)
    warnings = too_large + doubts(curves, [*sizes, *predict], len(task.train), len(task.test))
    if output is not None:
        from poolwise.planning.plot import draw_plan

        with replacing(output) as temporary:
            draw_plan(curves, predict).savefig(temporary, format="png")
    result = {
        "train_images": len(task.train),
        "test_images": len(task.test),
        "classes": classes,
        "runs": len(seeds),
        "seed": seed,
        "methods": [_method(curve, predict) for curve in curves],
        "selection": features.selection if candidates else None,
        "warnings": warnings,
        "plot": None if output is None else str(output),
    }
    if given_options["as_json"]:
        print_json(result)
    else:
        _show(result, curves)
    for warning in warnings:
        say(f"warning: {warning}")


def _check(reading: Reading, given_options: dict[str, Any]) -> None:
    """Usage errors, before any work."""
    sizes, test = given_options["sizes"], given_options["test"]
    if len(sizes) < 3:
        raise click.BadParameter(
            f"the law has two unknowns, and needs at least three different sizes; got {', '.join(map(str, sizes))}",
            param_hint="--sizes",
        )
    if test is not None and given_options["holdout"] is not None:
        raise click.UsageError(f"--holdout is the share of IMAGES to test on; with --test {test} there is none")
    if given_options["test_member"] is not None and test is None:
        raise click.UsageError("--test-member chooses an array of --test, a .npz file; give that too")
    reading.check()
    if test is not None:
        _test_reading(reading, test, given_options["test_member"]).check()


def _check_patches(n_patches: int, K: int, candidates: bool) -> None:
    from poolwise.planning.measuring import CANDIDATES_PER_CODE

    wanted = CANDIDATES_PER_CODE * K if candidates else K
    if wanted > n_patches:
        each = f" with {CANDIDATES_PER_CODE} candidates each" if candidates else ""
        raise click.UsageError(
            f"--patches {n_patches} patches cannot give {wanted} different codes, as --sizes {K}{each} needs; give more "
            f"--patches, or smaller --sizes{' or --no-candidates' * candidates}"
        )


def _check_with_candidates(command: click.Command, features: "PooledFeatures", K: int) -> None:
    """What a recipe with candidates would refuse."""
    from sklearn.base import clone

    from poolwise.planning.measuring import CANDIDATES_PER_CODE

    try:
        _ = clone(features).set_params(n_codes=K, n_candidates=CANDIDATES_PER_CODE * K).recipe
    except ValueError as error:
        raise click.UsageError(in_options(error, command)) from error


def _check_without_candidates(changes: dict[str, Any]) -> None:
    """Options that would do nothing."""
    for name in ("selection", "projection", "n_super_patches"):
        if name in changes:
            option = PARAMETERS[name].option
            raise click.UsageError(f"{option} is about candidates, and --no-candidates learns none; leave out one of the two")


def _that_fit(ctx: click.Context, features: "PooledFeatures", n: int) -> "tuple[list[int], list[str]]":
    """Sizes to predict whose features this machine could hold, and a sentence on defaults that are left out."""
    from poolwise.analysis.cost import fit_bytes
    from poolwise.support.memory import in_bytes, physical_bytes

    here, recipe, sizes = physical_bytes(), features.recipe, ctx.params["sizes"]

    def largest(K: int) -> "Pooling":
        """Of those that may be chosen."""
        outputs = recipe.encoder.sides * K
        return max(replace(recipe, n_codes=K).poolings(_ANY_POSITIONS), key=lambda one: one.n_cells * one.width(outputs))

    def is_too_large(K: int) -> bool:
        return here is not None and fit_bytes(largest(K), recipe.encoder.sides * K, n) > here

    def refusal(option: str, K: int) -> str:
        outputs, pooling = recipe.encoder.sides * K, largest(K)
        d = pooling.n_cells * (pooling.directions_kept(outputs) or pooling.width(outputs))
        needed = fit_bytes(pooling, outputs, n)
        second = " or --directions" * isinstance(pooling, SecondOrder)
        return (
            f"{option} {K} gives {d:,} features, and to learn from those of {n:,} images takes {in_bytes(needed)}, more than "
            f"this machine has ({in_bytes(here or 0)}); give smaller {option}{second}"
        )

    if is_too_large(sizes[-1]):
        raise click.UsageError(refusal("--sizes", sizes[-1]))
    predict = [K for K in ctx.params["predict"] if K not in sizes]
    large = [K for K in predict if is_too_large(K)]
    if not large:
        return predict, []
    if ctx.get_parameter_source("predict") is not ParameterSource.DEFAULT:
        raise click.UsageError(refusal("--predict", large[0]))
    return [K for K in predict if K not in large], [f"left out: {refusal('--predict', large[0])}"]


def _test_reading(reading: Reading, test: Path, member: str | None) -> Reading:
    """The images of --test are read as IMAGES are; those left out of them are listed on stderr."""
    named = as_name(test, "test")
    columns = reading.columns if test.suffix.lower() == ".csv" else None
    images = test if named is None else Path(str(named))
    return replace(reading, images=images, member=member, columns=columns, skipped=None, named=named)


def _check_matplotlib() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise click.UsageError(
            "-o draws a plot, which needs matplotlib: pip install 'poolwise[report]', or leave out -o"
        ) from error


def _open(reading: Reading, given_options: dict[str, Any], stages: Stages) -> tuple["Task", int]:
    """Images to learn from and to test on, and how many classes they have."""
    import numpy as np
    from sklearn.utils.multiclass import check_classification_targets

    from poolwise.images import ImageError
    from poolwise.planning.measuring import Task, hold_out
    from poolwise.support.rows import RowsOf

    test, n_jobs = given_options["test"], given_options["n_jobs"]
    images = reading.open(stages, labels=True, output=given_options["output"], n_jobs=n_jobs, again=True)
    if images.labels is None:
        raise ImageError(
            reading.images,
            "it has no labels, and accuracy cannot be measured without; put the images into one folder per class, or give a "
            ".csv with labels",
        )
    check_classification_targets(images.labels)
    classes, labels = np.unique(images.labels, return_inverse=True)
    if len(classes) < 2:
        raise ImageError(reading.images, f"all its images have one label, {classes[0].item()!r}; expected at least two")
    if test is not None:
        others = _test_reading(reading, test, given_options["test_member"]).open(
            stages, labels=True, output=None, n_jobs=n_jobs, again=True
        )
        _check_shapes(images, others, test)
        return Task(images, labels, others, numbers_of(others, classes, test)), len(classes)
    share = 0.25 if given_options["holdout"] is None else given_options["holdout"]
    learn, held = hold_out(labels, share, np.random.default_rng(given_options["seed"]))
    if len(held) == 0:
        raise ImageError(reading.images, "every class has one image alone, so none can be tested on; give more, or --test")
    return Task(RowsOf(images, learn), labels[learn], RowsOf(images, held), labels[held]), len(classes)


def _check_shapes(images: "Images", others: "Images", where: Path) -> None:
    from poolwise.images import ImageError

    if images.shape[1:] != others.shape[1:]:
        H, W, _ = images.shape[1:]
        raise ImageError(
            where,
            f"its images have {say_shape(others.shape[1:])}, but those to learn from {say_shape(images.shape[1:])}; give "
            f"--resize {H}x{W} if they are files, else change the array",
        )


def _method(curve: "Curve", predict: "Sequence[int]") -> dict[str, Any]:
    """One method in the result: its law, its cost, and a row per number of codes."""
    law, cost = curve.law, curve.cost
    rows: list[dict[str, Any]] = [
        {
            "codes": int(K),
            "kind": "measured",
            "accuracy": float(mean),
            "accuracy_std": float(std),
            "accuracies": runs.tolist(),
            "milliseconds": float(milliseconds),
        }
        for K, mean, std, runs, milliseconds in zip(
            curve.codes, curve.mean, curve.std, curve.accuracy, curve.milliseconds, strict=True
        )
    ]
    for K in predict:
        low, high = law.interval(K)
        rows.append({"codes": K, "kind": "predicted", "accuracy": law.at(K), "low": low, "high": high})
        rows[-1]["milliseconds"] = float(cost.at(K))
    for row in rows:
        row["features"] = curve.features_at(row["codes"])
        row["bytes"] = 4 * row["features"]
    return {
        "name": curve.name,
        "law": {"a": law.a, "b": law.b, "error": law.error},
        "cost": {"milliseconds": cost.fixed, "ratio": cost.ratio},
        "rows": sorted(rows, key=lambda row: row["codes"]),
    }


def _show(result: dict[str, Any], curves: "Sequence[Curve]") -> None:
    echo(f"{'':<8} {'codes':>6}  {'accuracy':<25}{'':<9} {'features':>8} {'ms/image':>9} {'bytes':>8}")
    for method in result["methods"]:
        for number, row in enumerate(method["rows"]):
            if row["kind"] == "predicted":
                spread = f"({100 * row['low']:.1f} to {100 * row['high']:.1f})"
            else:
                spread = f"± {100 * row['accuracy_std']:.1f}" if result["runs"] > 1 else ""
            echo(
                f"{method['name'] if number == 0 else '':<8} {row['codes']:>6,}  {100 * row['accuracy']:>5.1f} % {spread:<17}"
                f"{row['kind']:<9} {row['features']:>8,} {row['milliseconds']:>9.3f} {row['bytes']:>8,}"
            )
        echo()
    for name, text in _words(result, curves).items():
        echo(f"{name:<11}{text}")


def _words(result: dict[str, Any], curves: "Sequence[Curve]") -> dict[str, str]:
    """The lines below the table."""
    runs = result["runs"]
    lines = {
        "measured": (f"mean ± standard deviation of {runs} runs" if runs > 1 else "one run")
        + f": {result['train_images']:,} images to learn from, {result['test_images']:,} to test on, "
        f"{result['classes']:,} classes",
    }
    if any(row["kind"] == "predicted" for row in result["methods"][0]["rows"]):
        lines["predicted"] = "by the law below, and where 95 % of single runs lie if it holds that far; ms by the work to do"
    if result["selection"] not in (None, PARAMETERS["selection"].default):
        lines["chosen"] = f"the codes of PDL by {WAYS[result['selection']].title}"
    for curve in curves:
        a, b = 100 * curve.law.a, 100 * curve.law.b
        sign = "+" if b >= 0 else "−"
        lines[curve.name] = f"accuracy = {a:.1f} {sign} {abs(b):.1f} K^(−1/4) %, runs ± {100 * curve.law.error:.1f} about it"
    if len(curves) == 2:
        kmeans, pdl = curves
        K, needed = int(pdl.codes[-1]), kmeans.law.codes_for(float(pdl.mean[-1]))
        if needed < 1e6:
            lines[pdl.name] += f"; its {K:,} codes match {needed:,.0f} of K-means, by K-means' law"
    if result["plot"] is not None:
        lines["plot"] = result["plot"]
    return lines
