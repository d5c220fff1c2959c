"""A folder of PNG files beside the same images in an array: `fit` and `evaluate`, through the commands' own functions."""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from poolwise import KMeans, LinearSVM, PooledFeatures
from poolwise.cli.commands.evaluate import evaluate
from poolwise.cli.commands.fit import fit
from poolwise.cli.model import load_model
from poolwise.cli.reading import Reading
from poolwise.engine.threads import Threads
from poolwise.images import open_images
from poolwise.support.progress import Stages

from machine import THREADS, load_labelled, median_ratio

TRAIN, TEST = 5000, 1000
CODES, CANDIDATES = 200, 800
ROUNDS = 2  # of K-means, which sees no images: many would take minutes, and hide what files cost in the noise of the machine
TURNS = 3
READ = ("patches", "covariance", "transform")  # the stages of fit that look at images


def write_both(home: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """train and test as folders of class folders, and as .npz files with the images in the same order."""
    for name, rows in (("train", slice(0, TRAIN)), ("test", slice(TRAIN, TRAIN + TEST))):
        for number, (image, label) in enumerate(zip(images[rows], labels[rows], strict=True)):
            folder = home / name / f"class{label:02}"
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / f"{number:05}.png")
        source = open_images(home / name)
        np.savez(home / f"{name}.npz", x=source[:], y=source.labels)


def decode_seconds(folder: Path) -> float:
    """Every file once, on as many threads, and nothing else."""
    start = time.perf_counter()
    images = open_images(folder, memory=0)
    with Threads(THREADS) as engine:
        engine.each(lambda rows: images[rows] is None, len(images), 64)
    return time.perf_counter() - start


def fit_seconds(where: Path, model: Path) -> tuple[float, float]:
    """All of `poolwise fit`, and those of its stages that look at images."""
    start = time.perf_counter()
    images = Reading(where).open(Stages(), labels=True, output=model, n_jobs=THREADS, again=True)
    features = PooledFeatures.preset(
        "jia2012", n_codes=CODES, n_candidates=CANDIDATES, dictionary__max_iter=ROUNDS, random_state=0, n_jobs=THREADS
    )
    fit(features, LinearSVM(n_jobs=THREADS), images, model, Stages())
    return time.perf_counter() - start, sum(features.timings_[stage] for stage in READ)


def evaluate_seconds(where: Path, model: Path) -> tuple[float, float]:
    """All of `poolwise evaluate`, and its accuracy."""
    start = time.perf_counter()
    images = Reading(where).open(Stages(), labels=True, output=None, n_jobs=THREADS)
    result = evaluate(*load_model(model, THREADS, Stages()), images, Stages())
    return time.perf_counter() - start, result["accuracy"]


def run() -> dict[str, object]:
    source, images, labels = load_labelled()
    order = np.resize(np.random.default_rng(0).permutation(len(images)), TRAIN + TEST)
    images, labels = images[order], labels[order]
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_both(home, images, labels)
        ways = {"folder": "", "array": ".npz"}
        settings = {"dictionary": KMeans(max_iter=1), "n_patches": 1024, "random_state": 0}
        few = PooledFeatures.preset("jia2012", n_codes=2, n_candidates=4, **settings).fit_transform(images[:200])  # compile
        LinearSVM().fit(few, labels[:200])
        turns = [_turn(home, ways) for _ in range(TURNS)]
    middle = {name: round(statistics.median(turn[name] for turn in turns), 3) for name in turns[0]}
    return {
        "name": "folder",
        "ours": round(middle["folder fit"] + middle["folder evaluate"], 2),
        "peer": round(middle["array fit"] + middle["array evaluate"], 2),
        "ratio": _ratio(turns, ("fit", "evaluate"), ("train", "test")),
        "unit": f"seconds of fit ({CODES} of {CANDIDATES} codes, {ROUNDS} rounds, {TRAIN} images) and evaluate ({TEST} images) "
        "from PNG files in class folders; the peer is the same from an array. ratio = array / (folder - decode), where decode "
        "is how long it takes by itself to decode every file once on as many threads: at least 0.9 means that files are 90 % "
        "as fast as an array when decoding is counted apart",
        "ratio_of_stages_that_read": _ratio(turns, ("stages", "evaluate"), ("train", "test")),
        "ratio_evaluate": _ratio(turns, ("evaluate",), ("test",)),
        "seconds": middle,
        "images": source,
    }


def _ratio(turns: list[dict[str, float]], stages: tuple[str, ...], decoded: tuple[str, ...]) -> float:
    """array / (folder - decode) of these stages, the median over turns."""
    array, folder = ([sum(turn[f"{way} {stage}"] for stage in stages) for turn in turns] for way in ("array", "folder"))
    decode = [sum(turn[f"decode {part}"] for part in decoded) for turn in turns]
    return median_ratio(array, [whole - apart for whole, apart in zip(folder, decode, strict=True)])


def _turn(home: Path, ways: dict[str, str]) -> dict[str, float]:
    """Seconds of everything, once."""
    seconds = {f"decode {part}": decode_seconds(home / part) for part in ("train", "test")}
    accuracy = set()
    for way, end in ways.items():
        model = home / f"{way}.safetensors"
        seconds[f"{way} fit"], seconds[f"{way} stages"] = fit_seconds(home / f"train{end}", model)
        seconds[f"{way} evaluate"], score = evaluate_seconds(home / f"test{end}", model)
        accuracy.add(score)
    assert len(accuracy) == 1, accuracy  # the same model to the bit
    return seconds
