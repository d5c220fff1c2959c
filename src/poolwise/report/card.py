"""A model card: what a model is, what it was learned from, how good it is, what it costs, its limits, how to run it.

Markdown for the README of a shared model. Whatever others wrote (labels, a file's name) is escaped; the text names no path.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from poolwise.analysis.accuracy import spelled
from poolwise.support.text import file_size

_CLASSES_SHOWN, _CONFUSIONS_SHOWN, _LABELS_NAMED = 100, 10, 20
_PROVENANCE = {
    "data set": "data set",
    "images": "images",
    "skipped": "files left out",
    "mirrored": "classifier also learned from mirror images",
    "resize": "resized to",
    "crop": "cropped to proportions",
    "grey": "made grey",
    "channels": "bands taken",
    "page": "page of stacks",
    "stack": "stacks of pages",
    "seed": "seed",
    "saved": "saved",
}

_EXPORTS = {
    ".onnx": ("model", "by ONNX Runtime in many languages", "It cannot be exported to ONNX"),
    ".html": ("page", "as a page in a browser", "It cannot be exported as a page for browsers"),
}


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, in one line.

    >>> print(escaped("<b> a|b_c"))
    \<b\> a\|b\_c
    """
    text = text if text.isprintable() else ascii(text)
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def _in_line(text: str) -> str:
    """The same for text of ours within a line, or in a cell of a table: only signs that mean something there are escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|&~!])", r"\\\1", text if text.isprintable() else ascii(text))


def model_card(
    title: str,
    summary: Mapping[str, Any],
    parts: Mapping[str, str],
    origin: Mapping[str, Any],
    *,
    refused: Mapping[str, str | None],
    evaluation: Mapping[str, Any] | None = None,
    evaluated_on: str | None = None,
    is_learned_from: bool = False,
) -> str:
    """The card's text.

    summary : what `poolwise inspect --json` prints    parts : a line for each part    origin : provenance that may be shared
    refused : why there is no ".onnx" or ".html" of the model, each None if there is
    evaluation : what `poolwise evaluate --json` prints
    evaluated_on : the name of a data set, or None    is_learned_from : whether these images are those of the fit
    """
    sections = {
        "What it is": _what(summary, parts),
        "What it was learned from": _origin(summary, origin),
        "How good it is": _accuracy(summary, evaluation, evaluated_on, is_learned_from),
        "What it costs": _cost(summary, evaluation),
        "Limits": _limits(summary),
        "How to run it": _running(title, summary, refused),
    }
    text = "\n\n".join(f"## {heading}\n\n" + "\n".join(lines) for heading, lines in sections.items())
    return f"# {_in_line(title)}\n\n{summary['summary']}.\n\n{text}\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def _what(summary: Mapping[str, Any], parts: Mapping[str, str]) -> list[str]:
    H, W, c = summary["image_shape"]
    lines = [
        f"It takes images of {H}×{W} pixels with {c} channel{'s' * (c != 1)} and gives {summary['features']:,} numbers for each"
        + (", and its label." if summary["classifier"] else ".")
        + " Small patches of an image are compared with codes that were learned from images like it, and how strongly codes "
        "respond is pooled over parts of the image. It is not a neural network, and needs no GPU.",
        "",
    ]
    if summary["classifier"]:
        classes = [spelled(label) for label in summary["classifier"]["classes"]]
        more = f" and {len(classes) - _LABELS_NAMED:,} more" if len(classes) > _LABELS_NAMED else ""
        lines += [f"Its {len(classes):,} labels: {', '.join(map(escaped, classes[:_LABELS_NAMED]))}{more}.", ""]
    return lines + _table(["part", "setting"], [[name, _in_line(text)] for name, text in parts.items()])


def _origin(summary: Mapping[str, Any], origin: Mapping[str, Any]) -> list[str]:
    rows = [[_PROVENANCE[name], _plain(origin[name])] for name in _PROVENANCE if name in origin]
    rows.append(["made with", _in_line(", ".join(f"{name} {number}" for name, number in summary["libraries"].items()))])
    lines = _table(["", ""], rows)
    if "data set" not in origin:
        lines += [
            "",
            "Which images these were, and under which licence they are, the model file does not say. Please add it here.",
        ]
    return lines


def _plain(value: Any) -> str:
    return "yes" if value is True else f"{value:,}" if isinstance(value, int) else _in_line(str(value))


def _accuracy(
    summary: Mapping[str, Any], evaluation: Mapping[str, Any] | None, evaluated_on: str | None, is_learned_from: bool
) -> list[str]:
    classifier = summary["classifier"]
    if not classifier:
        return ["It has no classifier: its features are for one of yours."]
    lines = []
    if classifier["held_out"] is not None:
        accuracy, error, _ = classifier["held_out"]
        lines.append(
            f"Of its own training images {accuracy:.1%} ± {error:.1%} got their label from classifiers that had not seen them. "
            "That is a little high: settings, and perhaps codes, were chosen on the same images."
        )
    if evaluation is None:
        return (
            [*lines, "It was not measured on other images for this card."] if lines else ["It was not measured for this card."]
        )
    share, n = evaluation["accuracy"], evaluation["images"]
    on = f"images of {escaped(evaluated_on)}" if evaluated_on else "images"
    lines += [
        "",
        f"**{share:.1%}** ± {math.sqrt(share * (1 - share) / n):.1%} (standard error) of {n:,} {on} got their own label.",
    ]
    if is_learned_from:
        lines.append("These are the images that it was fitted on, so this says little about others.")
    if evaluation["skipped"]:
        left_out = evaluation["skipped"]
        lines.append(f"Left out, since they could not be used: {left_out:,} file{'s' * (left_out != 1)}.")
    per_class = evaluation["per_class"]
    if len(per_class) <= _CLASSES_SHOWN:
        rows = [
            [escaped(spelled(name)), f"{one['images']:,}", "" if one["accuracy"] is None else f"{one['accuracy']:.1%}"]
            for name, one in per_class.items()
        ]
        lines += ["", *_table(["label", "images", "accuracy"], rows)]
    confused = _confusions(evaluation["confusion"], list(per_class))
    return lines + (["", "Most frequent mistakes:", "", *confused] if confused else [])


def _confusions(confusion: Sequence[Sequence[int]], names: Sequence[str]) -> list[str]:
    wrong = [(count, i, j) for i, row in enumerate(confusion) for j, count in enumerate(row) if count and i != j]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [
        f"- {escaped(names[i])} taken for {escaped(names[j])}: {count:,} of {sum(confusion[i]):,}"
        for count, i, j in wrong[:_CONFUSIONS_SHOWN]
    ]


def _cost(summary: Mapping[str, Any], evaluation: Mapping[str, Any] | None) -> list[str]:
    cost = summary["multiply_adds"]
    stages = " + ".join(f"{name} {count:,}" for name, count in cost.items() if count)
    has_roots = any(layer["pooling"].get("normalize") in ("root", "log") for layer in summary["layers"])
    lines = [
        f"- {sum(cost.values()) / 1e6:,.1f} million multiplications with an addition per image ({stages})"
        + "; matrix roots or logarithms are not counted" * has_roots
        + ".",
        f"- The model file has {file_size(summary['bytes'])}.",
    ]
    if evaluation is not None:
        speed = f"{evaluation['images_per_second']:,.0f}"
        lines.append(f"- {speed} images per second on the machine that made this card, reading and decoding included.")
    return lines


def _limits(summary: Mapping[str, Any]) -> list[str]:
    H, W, _ = summary["image_shape"]
    scaled = summary["fitted"].get("bands") is not None
    lines = [
        f"- Images of another size must be brought to {H}×{W} first, as those it was learned from.",
        "- Bands are scaled as those of the images it was learned from; others' units or sensors need a model of their own."
        if scaled
        else "- Pixels are expected as in training, commonly 0..255. Divided by 255 they give other features.",
        "- It sees texture, edges and colour in small parts of an image, not objects. On natural photographs a pretrained "
        "network gives better features.",
        "- Accuracy is that of images like those measured. On others (another camera, season, laboratory) it may be far lower.",
    ]
    if summary["classifier"]:
        lines.append("- Every image gets one of the labels above, also one that shows none of them.")
    return lines


def _running(title: str, summary: Mapping[str, Any], refused: Mapping[str, str | None]) -> list[str]:
    name = shlex.quote(title if title.isprintable() else ascii(title))
    use = "predict" if summary["classifier"] else "transform"
    output = "labels.csv" if summary["classifier"] else "features.npy"
    method = "predict" if summary["classifier"] else "transform"
    lines = [
        "On the command line, where `images` is a folder, an array or a list of files:",
        "",
        f"    poolwise {use} {name} images -o {output}",
        "",
        "In Python:",
        "",
        "    import poolwise",
        "",
        f"    model = poolwise.load({title!r})",
        f"    model.{method}(images)  # (n, {', '.join(map(str, summary['image_shape']))})",
        "",
    ]
    for ending, (output, where, cannot) in _EXPORTS.items():
        reason = refused[ending]
        if reason is None:
            lines += [f"Without poolwise, {where}:", "", f"    poolwise export {name} -o {output}{ending}", ""]
        else:
            lines += [f"{cannot}: {_in_line(reason)}.", ""]
    return lines[:-1]
