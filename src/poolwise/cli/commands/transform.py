"""`poolwise transform`: images to a file of features."""

import csv
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.clusters import cluster, on_cluster
from poolwise.cli.model import open_both
from poolwise.cli.output import check_output, echo, print_json, text_file
from poolwise.cli.reading import Reading
from poolwise.cli.shard_formats import FORMATS
from poolwise.cli.shards import check_folder, write_shards
from poolwise.support.files import followed, replacing
from poolwise.support.memory import in_bytes
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures
    from poolwise.images import Images

_ENDINGS = (".npy", ".csv")


@click.command("transform", context_settings=options.SETTINGS)
@options.model_file
@options.images_or_files
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Where the features go: NAME.npy, (images, features) float32; NAME.csv with names; or shards with paths: NAME.zarr, "
    "NAME.parquet, or a folder of .npy, a name without an ending.",
)
@options.jobs
@cluster
@options.as_json
@options.quiet
def command(
    model: Path, output: Path, n_jobs: int | None, cluster: str | None, as_json: bool, quiet: bool, **given_options: Any
) -> None:
    """Compute the features of IMAGES with MODEL.

    Rows are in the order of the images: of a folder, by name. Memory does not grow with their number. Shards
    that are there already are left as they are, so that a second run goes on where the first stopped. IMAGES
    as in `poolwise fit`, or one or more image files; of a data set the test part, unless another is named.

    \b
    Examples:
      poolwise transform photos.safetensors photos/test -o features.npy
      poolwise transform photos.safetensors more.npz --member x_test -o features.npy
      poolwise transform photos.safetensors list.txt -o features.csv
      poolwise transform photos.safetensors one.jpg two.png -o features.csv
      poolwise transform cifar.safetensors cifar10:train -o features.npy
      poolwise transform photos.safetensors many -o shards
      poolwise transform photos.safetensors many -o features.zarr
    """
    reading = Reading.take(given_options)
    to_folder = output.is_dir() or output.suffix.lower() in FORMATS
    if to_folder:
        check_folder(output)
    else:
        if output.suffix.lower() not in _ENDINGS:
            raise click.BadParameter(
                f"{output} does not end in {' or '.join(_ENDINGS)}; for shards give NAME.zarr, NAME.parquet, or a folder",
                param_hint="--output",
            )
        check_output(output, _ENDINGS, inputs=(model, *reading.inputs))
    reading.check()
    stages = Stages(not quiet)
    images, features, _ = open_both(model, reading, stages, labels=False, output=output, n_jobs=n_jobs)
    names = features.get_feature_names_out().tolist()
    result: dict[str, Any] = {}
    with on_cluster(cluster, stages, features):
        if to_folder:
            result["written"], result["shards"] = write_shards(output, model, features, images, reading, len(names), stages)
        elif output.name.lower().endswith(".csv"):
            _write_csv(output, features, images, names, stages)
        else:
            _write_npy(output, features, images, names, stages)
    result |= {"output": str(output), "images": len(images), "features": len(names), "skipped": len(images.skipped)}
    if as_json:
        print_json(result)
    elif to_folder:
        echo(
            f"{output}: {len(names):,} features of {len(images):,} images in {result['shards']:,} shards, "
            f"{result['written']:,} of them computed now"
        )
    else:
        echo(f"{output}: {len(names):,} features of {len(images):,} images")


def _write_npy(output: Path, features: "PooledFeatures", images: "Images", names: list[str], stages: Stages) -> None:
    """Block after block behind the header. Not through a memory map: on a full disk that ends the process without a word."""
    import numpy as np
    from numpy.lib import format as npy

    needed, free = 4 * len(images) * len(names), shutil.disk_usage(followed(output).parent).free
    if needed > free:
        raise click.BadParameter(
            f"{output} needs {in_bytes(needed)}, but there are {in_bytes(free)} free", param_hint="--output"
        )
    header = {"descr": "<f4", "fortran_order": False, "shape": (len(images), len(names))}
    with replacing(output) as temporary, temporary.open("wb") as file:
        npy.write_array_header_1_0(file, header)
        with stages.stage("transform", len(images)) as update:
            for rows, X in features.transform_blocks(images):
                file.write(np.ascontiguousarray(X, "<f4").data)
                update(rows.stop)


def _write_csv(output: Path, features: "PooledFeatures", images: "Images", names: list[str], stages: Stages) -> None:
    """One line for each image: its path and features, numbers with the nine digits that a float32 needs."""
    with text_file(output) as file:
        writer = csv.writer(file)
        writer.writerow(["path", *names])
        with stages.stage("transform", len(images)) as update:
            for rows, X in features.transform_blocks(images):
                for name, row in zip(images.names[rows], X.tolist(), strict=True):
                    writer.writerow([name, *map("{:.9g}".format, row)])
                update(rows.stop)
