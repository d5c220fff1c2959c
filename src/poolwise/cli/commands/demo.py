"""`poolwise demo`: the whole way from images to labels on the embedded photos."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.output import check_output, check_report, echo
from poolwise.support.files import replacing
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures

CANDIDATES_PER_CODE = 8
_NTH = 4  # crops that the search looks at


@click.command("demo", context_settings=options.SETTINGS)
@click.option("--codes", default=16, show_default=True, type=click.IntRange(1, 500), help="How many codes to keep.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**31), help="Same seed, same result.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1, 100), help="How many seeds to run.")
@click.option(
    "--trials",
    default=16,
    show_default=True,
    type=click.IntRange(0, 1000),
    help="How many settings to try for the tuned row; 0 leaves it out.",
)
@options.jobs
@click.option(
    "-o",
    "--output",
    default="poolwise-demo.png",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the picture of the clusters goes.",
)
@options.report
@click.option(
    "--save-images",
    default=None,
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the photos as FOLDER/train/CLASS/*.png and FOLDER/test/CLASS/*.png for `poolwise fit`, and do nothing else.",
)
@options.as_json
@options.quiet
def command(
    codes: int,
    seed: int,
    runs: int,
    trials: int,
    n_jobs: int | None,
    output: Path,
    report: Path | None,
    save_images: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn features on the embedded photos and show the result.

    16 photographs, 32×32 crops: which picture is this crop from? Learns codes as the paper does, without labels: by K-means
    alone, and by K-means for eight times as many, of which it keeps those whose responses differ after pooling. Then with our
    defaults, and with what a short search finds for as many codes. Trains a linear classifier on the features of each, prints
    accuracy and time, and draws the codes that the paper's method keeps, each above those that it represents.

    \b
    Examples:
      poolwise demo
      poolwise demo --codes 64 -o clusters.png
      poolwise demo --codes 64 --report demo.html
      poolwise demo --json --quiet
      poolwise demo --save-images photos
    """
    if save_images is not None:
        _save_images(save_images, verbose=not quiet)
        return
    check_output(output, (".png",))
    check_report(report)
    result = run(codes, range(seed, seed + runs), n_jobs, output, report, trials=trials, verbose=not quiet)
    if as_json:
        echo(json.dumps(result))
    else:
        _show(result)


def run(
    codes: int,
    seeds: Sequence[int],
    jobs: int | None,
    output: Path,
    report: Path | None = None,
    *,
    trials: int,
    verbose: bool,
) -> dict[str, Any]:
    """Do it, write the picture and the page of the first run, and give what the table shows."""
    from sklearn.base import clone

    from poolwise import LinearSVM, PooledFeatures, tune
    from poolwise.datasets import load_photos
    from poolwise.method.dictionaries import KMeans
    from poolwise.report import draw_clusters

    stages = Stages(verbose, "demo ")
    with stages.stage("load photos"):
        train, test = load_photos(subset="train"), load_photos(subset="test")
    with stages.stage("compile"):  # numba's loops: seconds on the first run, then they are cached
        PooledFeatures(2, 4, dictionary=KMeans(max_iter=1), n_patches=1024, n_jobs=1, random_state=0).fit(train.images[::100])
        LinearSVM().fit(train.images[::10, 0, 0], train.target[::10])
    candidates = CANDIDATES_PER_CODE * codes
    methods: dict[str, list[dict[str, float]]] = {}
    settings: dict[str, Any] = {"n_patches": 100_000, "n_jobs": jobs}
    for seed in seeds:
        settings["random_state"] = seed
        with stages.stage(f"paper's method, seed {seed}"):
            kmeans = PooledFeatures.preset("jia2012", n_codes=codes, **settings).fit(train.images)
            selected = PooledFeatures.preset("jia2012", n_codes=codes, n_candidates=candidates, **settings).fit(train.images)
            for name, model in (
                ("paper: K-means", kmeans),
                ("paper: PDL", selected.reselect(projection=None)),
                ("paper: PDL, projected", selected),
            ):
                methods.setdefault(name, []).append(_evaluate(model, train, test))
        if seed == seeds[0]:
            with replacing(output) as temporary:
                draw_clusters(selected).save(temporary, format="PNG")
            if report is not None:
                _write_report(selected, train, test, report, verbose=verbose)
    models = {"default": PooledFeatures(codes)}
    tuned = None
    if trials:
        with stages.stage("search"):
            search = tune(train.images[::_NTH], train.target[::_NTH], codes, trials=trials, random_state=seeds[0], n_jobs=jobs)
        if search.interrupted:
            raise KeyboardInterrupt
        models["tuned"], tuned = search.best, f"{search.chosen.setting.words}: the best of {trials} trials on training images"
    for seed in seeds:
        settings["random_state"] = seed
        with stages.stage(f"{' and '.join(models)}, seed {seed}"):
            for name, model in models.items():
                model = clone(model).set_params(**settings).fit(train.images, train.target)
                methods.setdefault(name, []).append(_evaluate(model, train, test, "auto"))
    return {
        "chance": 1 / len(train.target_names),
        "codes": codes,
        "candidates": candidates,
        "runs": len(seeds),
        "train_images": len(train.images),
        "test_images": len(test.images),
        "methods": [{"name": name, **_summary(results)} for name, results in methods.items()],
        "tuned": tuned,
        "picture": str(output),
        "report": None if report is None else str(report),
    }


def _write_report(model: "PooledFeatures", train: Any, test: Any, path: Path, *, verbose: bool) -> None:
    """The page of the selected codes, with the accuracy of fewer and more of the same candidates."""
    from sklearn.pipeline import make_pipeline

    from poolwise import LinearSVM
    from poolwise.report import write_report

    K = len(model.codes_)
    budget = {}
    for size in sorted({max(1, K // 4), max(1, K // 2), K, 2 * K, 4 * K}):
        budget[size] = _evaluate(model.reselect(n_codes=size), train, test)["accuracy"]
    svm = LinearSVM(None, n_jobs=model.n_jobs).fit(model.transform(train.images), train.target_names[train.target])
    write_report(
        make_pipeline(model, svm),
        path,
        test.images,
        test.target_names[test.target],
        title="Sixteen photographs",
        names=[f"test image {row}" for row in range(len(test.images))],
        budget=budget,
        provenance={"command": "poolwise demo", "images": len(train.images)},
        verbose=verbose,
    )


def _save_images(folder: Path, *, verbose: bool) -> None:
    """The embedded photos as class folders of PNG files; an existing folder is left alone."""
    from PIL import Image

    from poolwise.datasets import load_photos

    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise click.BadParameter(f"{folder} cannot be made: {error.strerror}", param_hint="--save-images") from error
    for subset in ("train", "test"):
        photos = load_photos(subset=subset)
        with Stages(verbose, "demo ").stage(f"write {folder / subset}", len(photos.images)) as update:
            for number, (pixels, label) in enumerate(zip(photos.images, photos.target, strict=True)):
                name = photos.target_names[label]
                (folder / subset / name).mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(folder / subset / name / f"{number:04}.png")
                update(number + 1)


def _evaluate(model: "PooledFeatures", train: Any, test: Any, gamma: str | None = None) -> dict[str, float]:
    """Accuracy of a linear SVM on a model's features, and what they cost; gamma : None for the paper's"""
    from poolwise import LinearSVM
    from poolwise.analysis.cost import milliseconds

    X_train, X_test = model.transform(train.images), model.transform(test.images)
    took = milliseconds(model, test.images)
    svm = LinearSVM(gamma, n_jobs=model.n_jobs).fit(X_train, train.target)
    return {
        "accuracy": float(svm.score(X_test, test.target)),
        "features": X_test.shape[1],
        "learn_seconds": sum(model.timings_.values()),
        "images_per_second": 1000 / took,
    }


def _summary(results: list[dict[str, float]]) -> dict[str, Any]:
    accuracies = [result["accuracy"] for result in results]
    mean = {name: statistics.mean(result[name] for result in results) for name in results[0]}
    return {
        **mean,
        "features": results[0]["features"],
        "accuracy_std": statistics.stdev(accuracies) if len(results) > 1 else 0.0,
        "accuracies": accuracies,
    }


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    runs = result["runs"]
    table = Table(title=f"which of {round(1 / result['chance'])} pictures is this crop from?", show_edge=False)
    for column in (f"{result['codes']} codes", "accuracy", "features", "learned in", "images/s"):
        table.add_column(column, justify="left" if column.endswith("codes") else "right", no_wrap=True)
    for method in result["methods"]:
        spread = f" ± {100 * method['accuracy_std']:.1f}" if runs > 1 else ""
        table.add_row(
            method["name"],
            f"{100 * method['accuracy']:.1f}{spread} %",
            f"{method['features']}",
            f"{method['learn_seconds']:.1f} s",
            f"{method['images_per_second']:,.0f}",
        )
    console = Console()
    console.print(table)
    console.print()
    lines = {
        "accuracy": (f"mean ± standard deviation of {runs} runs; " if runs > 1 else "") + f"chance is {result['chance']:.1%}",
        "images": f"{result['train_images']:,} to learn from, {result['test_images']:,} to test on",
        "PDL": f"of {result['candidates']} candidates, the {result['codes']} whose responses differ most after pooling",
        "picture": f"{result['picture']}: each column a code that was kept, above codes that it represents",
    }
    if result["tuned"] is not None:
        lines["tuned"] = result["tuned"]
    if result["report"] is not None:
        lines["report"] = f"{result['report']}: open it in a browser"
    for name, text in lines.items():
        console.print(f"{name:<10}{text}", highlight=False, soft_wrap=True, markup=False)
