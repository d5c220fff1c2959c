"""`poolwise demo`: the whole way from images to labels on the embedded photos."""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import click

GAMMA = 0.005


@click.command("demo", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--codes", default=64, show_default=True, type=click.IntRange(1, 10_000), help="How many codes to learn.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**32 - 1), help="Same seed, same result.")
@click.option(
    "--jobs", default=None, type=int, help="Threads; results do not depend on it.  [default: as many as BLAS may use]"
)
@click.option(
    "-o",
    "--output",
    default="poolwise-demo.png",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the picture of the codes goes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def command(codes: int, seed: int, jobs: int | None, output: Path, as_json: bool, quiet: bool) -> None:
    """Learn features on the embedded photos and show what came out.

    16 photographs, 32×32 crops: which picture is this crop from? Learns the codes without labels, trains a linear classifier
    on the pooled features, prints accuracy, time and speed, and draws the learned codes.

    \b
    Examples:
      poolwise demo
      poolwise demo --codes 128 -o codes.png
      poolwise demo --json --quiet
    """
    if jobs == 0:
        raise click.BadParameter("0 threads cannot work; give a number, or -1 for every core", param_hint="--jobs")
    if not output.name.lower().endswith(".png"):
        raise click.BadParameter(f"{output} does not end in .png", param_hint="--output")
    try:
        tempfile.TemporaryFile(dir=output.parent).close()
    except OSError as error:
        raise click.BadParameter(f"{output.parent} is not a folder that can be written to", param_hint="--output") from error
    result = run(codes, seed, jobs, output, verbose=not quiet)
    if as_json:
        click.echo(json.dumps(result))
    else:
        _show(result)


def run(codes: int, seed: int, jobs: int | None, output: Path, *, verbose: bool) -> dict[str, Any]:
    """Do it, write the picture, and give what the table shows."""
    from sklearn.svm import LinearSVC

    from poolwise import PooledFeatures
    from poolwise.datasets import load_photos
    from poolwise.progress import Stages
    from poolwise.report.mosaic import by_colour, code_mosaic

    stages = Stages(verbose, "demo ")
    with stages.stage("load photos"):
        train, test = load_photos(subset="train"), load_photos(subset="test")
    with stages.stage("compile"):  # numba's loops: seconds on the first run, then they are cached
        PooledFeatures(2, n_patches=1024, max_iter=1, n_jobs=1, random_state=0).fit(train.images[::100])
    model = PooledFeatures.preset("jia2012", n_codes=codes, n_patches=100_000, random_state=seed, n_jobs=jobs)
    model.set_params(verbose=int(verbose))
    X_train = model.fit_transform(train.images)
    start = time.perf_counter()
    X_test = model.transform(test.images)
    transform_seconds = time.perf_counter() - start
    with stages.stage("classifier"):
        svm = LinearSVC(C=1 / (2 * GAMMA * len(X_train)), dual=False, random_state=seed).fit(X_train, train.target)
    accuracy = float(svm.score(X_test, test.target))
    channels = model.image_shape_in_[2]
    order = by_colour(model.codes_, channels)
    _save(code_mosaic(model.codes_[order], (*model.patch_size_, channels)), output)
    seconds = {**stages.seconds, **model.timings_, "transform": transform_seconds}
    return {
        "accuracy": accuracy,
        "chance": 1 / len(train.target_names),
        "codes": codes,
        "features": X_test.shape[1],
        "train_images": len(X_train),
        "test_images": len(X_test),
        "rounds": model.n_iter_,
        "converged": model.converged_,
        "images_per_second": len(X_test) / transform_seconds,
        "features_per_second": X_test.size / transform_seconds,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "picture": str(output),
    }


def _save(picture: Any, path: Path) -> None:
    """Write the picture whole or not at all."""
    handle, name = tempfile.mkstemp(suffix=".png", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            picture.save(file, format="PNG")
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    names = {
        "load photos": "load photos",
        "compile": "compile loops (first run only)",
        "patches": "sample patches",
        "whitening": "whiten",
        "dictionary": f"learn codes ({result['rounds']} rounds)",
        "pooling": f"encode and pool {result['train_images']:,} training images",
        "classifier": "train the linear classifier",
        "transform": f"encode and pool {result['test_images']:,} test images",
    }
    table = Table(title=f"{result['codes']} codes, {result['features']} features per image", show_edge=False)
    table.add_column("stage")
    table.add_column("seconds", justify="right")
    for stage, title in names.items():
        table.add_row(title, f"{result['seconds'][stage]:.2f}")
    console = Console()
    console.print(table)
    console.print()
    console.print(f"accuracy          {result['accuracy']:.1%}  (chance {result['chance']:.1%})", highlight=False)
    console.print(f"images/second     {result['images_per_second']:,.0f}", highlight=False)
    console.print(f"features/second   {result['features_per_second']:,.0f}", highlight=False)
    console.print(f"codes             {result['picture']}", highlight=False, soft_wrap=True)
