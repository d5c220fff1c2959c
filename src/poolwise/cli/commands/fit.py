"""`poolwise fit`: images to a model file."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.clusters import cluster, learned_features, on_cluster
from poolwise.cli.keeping import check_model_room, checkpoint, keep_model, keeping_steps
from poolwise.cli.mirroring import check_mirror, fit_mirrored
from poolwise.cli.output import check_output, check_report, echo, print_json
from poolwise.cli.parameters import first_parameters, given, other_parameters, set_given
from poolwise.cli.reading import Reading, say_shape
from poolwise.cli.spelling import in_options, option_value
from poolwise.support.progress import Stages
from poolwise.support.text import file_size

if TYPE_CHECKING:
    from poolwise.estimators import LinearSVM, LinearSVMCV, PooledFeatures, StackedFeatures
    from poolwise.estimators.linear_svm import LinearClassifier
    from poolwise.images import Images

_FOLDS = 5
_SPELLINGS = {"labels": "--classifier none", "LinearSVMCV": "--classifier cv"}


@click.command("fit", cls=options.SpellingCommand, spellings=_SPELLINGS, context_settings=options.SETTINGS)
@options.output("Where the model goes: NAME.safetensors.")
@first_parameters
@options.preset
@click.option(
    "--classifier",
    default=None,
    type=click.Choice(["none", "svm", "cv"]),
    help="A linear SVM on the features; cv searches for the best gamma on held-out images.  [default: cv if there are labels; "
    "svm with --gamma, with --preset, with few images, or with --directions-by labels; else none]",
)
@options.gamma("auto; with --preset the paper's 0.005")
@click.option(
    "--mirror-training",
    is_flag=True,
    help="The classifier also learns from the mirror image of every image: twice the rows to learn from, the same cost later.",
)
@click.option(
    "--layers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 8),
    metavar="N",
    help="Layers on layers: each further one has as many codes, of 3x3 cells of the maps of the one before.",
)
@options.report
@click.option(
    "--slim",
    is_flag=True,
    help="Leave candidates out of the file: it is smaller, but codes cannot be chosen again or drawn with their clusters.",
)
@click.option(
    "--seed",
    "random_state",
    default=0,
    show_default=True,
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    help="Same seed, same model.",
)
@options.jobs
@cluster
@checkpoint
@options.as_json
@options.quiet
@options.images_to_fit
@other_parameters
@click.pass_context
def command(ctx: click.Context, /, **given_options: Any) -> None:
    """Learn features from IMAGES, and a classifier if they have labels.

    IMAGES: a folder (its folders are the labels), a .npy or .npz array (labels: y_train for x_train), a .txt list of
    paths, a .csv table with the columns path and label (or with a column per channel, where each channel is a file), or a
    data set: cifar10, stl10, cub200, eurosat, photos, or a part such as stl10:unlabeled (without a part: train).
    `poolwise datasets` lists those that are here.

    \b
    Examples:
      poolwise fit photos/train -o photos.safetensors --codes 200 --candidates 1600
      poolwise fit pictures -o pictures.safetensors --resize 96x96 --crop --on-error skip
      poolwise fit data.npz --member x_train -o model.safetensors --classifier cv
      poolwise fit cifar10 -o cifar.safetensors --codes 200 --candidates 800 --selection supervised --mirror-training
      poolwise fit scans.csv --columns file,species --grey -o scans.safetensors
      poolwise fit plate.csv --columns dna+er+rna,compound -o plate.safetensors
      poolwise fit pictures -o c.safetensors --preset coates2011 --codes 1600 --grid 1,2,4
      poolwise fit pictures -o p.safetensors --checkpoint steps --resume
    """
    reading, changes = Reading.take(given_options, part="train"), given(ctx, given_options)
    output, as_json, quiet = (given_options[name] for name in ("output", "as_json", "quiet"))
    check_output(output, (".safetensors",), inputs=(reading.images,))
    report = given_options["report"]
    check_report(report, inputs=(reading.images, output))
    reading.check()
    folder, resume = given_options["checkpoint"], given_options["resume"]
    if resume and folder is None:
        raise click.UsageError("--resume goes on with checkpoints; give their folder by --checkpoint FOLDER")
    n_layers, mirror = given_options["layers"], given_options["mirror_training"]
    if n_layers > 1 and mirror:
        raise click.UsageError(f"--layers {n_layers} cannot be combined with --mirror-training")
    n_jobs, seed = given_options["n_jobs"], given_options["random_state"]
    changes |= {"random_state": seed, "n_jobs": n_jobs, "verbose": int(not quiet)}
    classifier, gamma, preset = (given_options[name] for name in ("classifier", "gamma", "preset"))
    if gamma is not None and classifier in ("none", "cv"):
        raise click.UsageError(f"--gamma {option_value(gamma)} is for --classifier svm; got --classifier {classifier}")
    features, svm = estimators(ctx.command, preset, changes, classifier, gamma)
    reading = replace(reading, nodata=features.recipe.nodata)
    by_itself = classifier is None and gamma is None and preset is None and not features.recipe.projects_by_labels
    check_mirror(mirror, features, classifier)
    stages = Stages(not quiet, "fit ")
    uses = option_of_labels(features)
    images = reading.open(stages, labels=uses is not None or classifier != "none", output=output, n_jobs=n_jobs, again=True)
    check_uses_of_labels(images, reading.images, uses=uses, mirror=mirror)
    if images.labels is None and classifier is None:
        svm = None
    elif by_itself and has_folds(images.labels):
        svm = estimators(ctx.command, None, changes, "cv", None)[1]
    check_labels(images, reading.images, svm)
    provenance = {
        "command": ctx.obj or "poolwise fit",
        "source": reading.source,
        "images": len(images),
        "skipped": len(images.skipped),
        "seed": seed,
        **reading.told,
        "mirrored": mirror,
    }
    slim = given_options["slim"]
    model = stacked(features, n_layers)
    how = {"slim": slim, "mirror": mirror, "clustered": given_options["cluster"] is not None}
    with keeping_steps(folder, resume=resume), on_cluster(given_options["cluster"], stages):
        result = fit(model, svm, images, output, stages, **how, provenance=provenance)
    if report is not None:
        write_report_of(model, svm, images, report, output.name, provenance, n_jobs, quiet=quiet)
        result["report"] = str(report)
    if as_json:
        print_json(result)
    else:
        show(result)


def stacked(features: "PooledFeatures", n_layers: int) -> "PooledFeatures | StackedFeatures":
    """Layers with the same parameters, the later ones with patches of 3×3 cells of maps, which have no bands to scale; the
    features themselves for one."""
    from sklearn.base import clone

    from poolwise import Patches, StackedFeatures

    if n_layers == 1:
        return features
    of_maps = {"descriptor": Patches(3), "bands": None, "statistics": False}
    above = [clone(features).set_params(**of_maps) for _ in range(n_layers - 1)]
    return StackedFeatures([features, *above], verbose=features.verbose)


def fit(
    features: "PooledFeatures | StackedFeatures",
    svm: "LinearClassifier | None",
    images: "Images",
    output: Path,
    stages: Stages,
    *,
    slim: bool = False,
    mirror: bool = False,
    clustered: bool = False,
    provenance: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit both (svm may be None), save them, and give what came out. The file does not remember threads and progress.

    mirror : whether the classifier also learns from mirror images    clustered : whether there is a cluster
    """
    from sklearn.pipeline import make_pipeline

    check_model_room(features, svm, images, output, slim=slim)
    start = time.perf_counter()
    if svm is None:
        features.fit(images, images.labels)
    elif mirror:
        fit_mirrored(features, svm, images, stages=stages)
    elif clustered:
        svm.fit(learned_features(features, images), images.labels)
    else:
        svm.fit(features.fit_transform(images, images.labels), images.labels)
    seconds = time.perf_counter() - start
    layers = getattr(features, "layers_", [features])
    first = layers[0]
    for part in (features, *(layers if first is not features else []), svm):
        if part is not None:
            part.set_params(n_jobs=None, verbose=0)
    remembered = {  # a file's name may not be text
        name: _printable(value) if isinstance(value, str) else value for name, value in (provenance or {}).items()
    }
    with stages.stage("save"):
        keep_model(features if svm is None else make_pipeline(features, svm), output, provenance=remembered, slim=slim)
    return {
        "model": str(output),
        "bytes": output.stat().st_size,
        "images": len(images),
        "image_shape": list(images.shape[1:]),
        "skipped": len(images.skipped),
        "mirrored": mirror,
        "codes": len(first.codes_),
        "candidates": first.n_candidates_,
        "layers": len(layers),
        "features": features.n_features_out_,
        "classes": None if svm is None else len(svm.classes_),
        "gamma": None if svm is None else svm.gamma_,
        "held_out": getattr(svm, "held_out_", None),
        "features_saw_labels": features.saw_labels_,
        "directions_saw_labels": first.recipe.projects_by_labels,
        "converged": None if svm is None else bool(svm.converged_),
        "seconds": round(seconds, 3),
    }


def write_report_of(
    features: "PooledFeatures | StackedFeatures",
    svm: "LinearClassifier | None",
    images: "Images",
    path: Path,
    title: str,
    provenance: dict[str, Any],
    n_jobs: int | None,
    *,
    quiet: bool,
    search: dict[str, Any] | None = None,
) -> None:
    """The page of a model that was fitted on these images; search : what `poolwise tune --json` prints of it"""
    from sklearn.pipeline import make_pipeline

    from poolwise.report import write_report

    features.set_params(n_jobs=n_jobs)
    model = features if svm is None else make_pipeline(features, svm)
    write_report(model, path, images, title=title, provenance=provenance, learned_from=True, verbose=not quiet, search=search)


def estimators(
    command: click.Command, preset: str | None, changes: dict[str, Any], classifier: str | None, gamma: float | str | None
) -> "tuple[PooledFeatures, LinearSVM | LinearSVMCV | None]":
    """Both, with parameters that have been checked; the second None for "none"."""
    from poolwise import LinearSVM, LinearSVMCV, PooledFeatures

    common = {"n_jobs": changes["n_jobs"], "verbose": changes["verbose"]}
    try:
        features = PooledFeatures() if preset is None else PooledFeatures.preset(preset)
        set_given(features, changes)
        _ = features.recipe  # checks it
        if classifier == "none":
            return features, None
        if gamma is None and preset is None:
            gamma = "auto"
        svm = LinearSVMCV(**common) if classifier == "cv" else LinearSVM(gamma, **common)
        svm.check_parameters(svm.get_params())
    except ValueError as error:
        raise click.UsageError(in_options(error, command)) from error
    return features, svm


def option_of_labels(features: "PooledFeatures") -> tuple[str, str] | None:
    """The option by which features are learned from labels too, and what to give instead; None without one."""
    recipe = features.recipe
    if recipe.selects_by_labels:
        return "--selection supervised", "another --selection"
    return ("--directions-by labels", "--directions-by variance") if recipe.uses_labels else None


def check_uses_of_labels(images: "Images", where: Path | str, *, uses: tuple[str, str] | None, mirror: bool) -> None:
    """What needs labels, where there are none: before features are learned."""
    from poolwise.images import ImageError

    if images.labels is None and (uses or mirror):
        what, instead = ("--mirror-training", "leave it out") if uses is None else (uses[0], f"give {uses[1]}")
        raise ImageError(
            where,
            f"it has no labels, which {what} needs; put the images into one folder per class, give a .csv with labels, or "
            f"{instead}",
        )
    if uses is not None and images.labels is not None and len(set(images.labels.tolist())) < 2:
        raise ImageError(
            where,
            f"all its images have one label, {images.labels[0].item()!r}; {uses[0]} needs at least two. Give images of other "
            f"classes too, or {uses[1]}",
        )


def check_labels(images: "Images", where: Path | str, svm: "LinearClassifier | None") -> None:
    """What a classifier would refuse, and what cannot be saved, before features are learned."""
    import numpy as np
    from sklearn.utils.multiclass import check_classification_targets

    from poolwise.images import ImageError

    if svm is None:
        return
    if images.labels is None:
        raise ImageError(
            where,
            "it has no labels, which a classifier needs; put the images into one folder per class, give a .csv with "
            "labels, or --classifier none",
        )
    check_classification_targets(images.labels)
    classes = np.unique(images.labels)
    for name in classes.tolist():
        if isinstance(name, str) and _printable(name) != name:
            raise ImageError(where, f"the label {name!a} is not text (UTF-8), so it cannot be saved; rename it")
    if len(classes) < 2:
        raise ImageError(
            where,
            f"all its images have one label, {classes[0].item()!r}; a classifier needs at least two. Give images of other "
            f"classes too, or --classifier none",
        )
    if hasattr(svm, "gammas") and not has_folds(images.labels):
        raise ImageError(
            where,
            f"the folds of --classifier cv need a label with {_FOLDS} images and another with two; give more, or "
            f"--classifier svm",
        )


def has_folds(labels: Any) -> bool:
    """Whether every fold has two labels to learn from: one with as many images as there are folds, another with two."""
    import numpy as np

    counts = np.sort(np.unique(labels, return_counts=True)[1])
    return bool(counts[-1] >= _FOLDS and len(counts) > 1 and counts[-2] > 1)


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def show(result: dict[str, Any]) -> None:
    """What `fit` gave, as text."""
    chosen = "" if result["candidates"] is None else f" of {result['candidates']:,} candidates"
    mirrored = ", for the classifier also mirrored" * result["mirrored"]
    layers = "" if result["layers"] == 1 else f" in each of {result['layers']} layers"
    lines = {
        "model": f"{result['model']}, {file_size(result['bytes'])}",
        "images": f"{result['images']:,} of {say_shape(tuple(result['image_shape']))}{mirrored}",
        "codes": f"{result['codes']:,}{chosen}{layers}: {result['features']:,} features",
    }
    if result["classes"] is not None:
        rest = "" if result["converged"] else ", not converged"
        lines["classifier"] = f"{result['classes']:,} classes, linear SVM, gamma {result['gamma']:.3g}{rest}"
        if result["held_out"] is not None:
            accuracy, error = result["held_out"]
            seen = "; a little high, since codes were chosen by their labels too" * result["features_saw_labels"]
            if result["directions_saw_labels"]:
                seen = "; far too high, since the features were learned from their labels"
            lines["held out"] = f"{accuracy:.2%} ± {error:.2%} right, each image classified by a model of others{seen}"
    lines["time"] = f"{result['seconds']:.1f} s"
    if "report" in result:
        lines["report"] = result["report"]
    for name, text in lines.items():
        echo(f"{name:<12}{text}")
