"""`poolwise datasets`: which data sets have a name, where they are, and fetching them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.names import PARTS
from poolwise.cli.output import echo, print_json, say
from poolwise.cli.spelling import in_options

if TYPE_CHECKING:
    from poolwise.datasets.catalogue import DataSet
    from poolwise.datasets.home import Found

_DATA = click.option(
    "--data",
    default=None,
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to search.  [default: what POOLWISE_DATA names, else poolwise in scikit-learn's data folder]",
)


@click.group("datasets", invoke_without_command=True, context_settings=options.SETTINGS)
@_DATA
@options.as_json
@click.pass_context
def command(ctx: click.Context, data: Path | None, as_json: bool) -> None:
    """List the data sets that can be given by name, where they are searched for and what was found.

    Nothing is downloaded, except by `poolwise datasets fetch`.

    \b
    Examples:
      poolwise datasets
      poolwise datasets --data /data --json
      poolwise datasets fetch cifar10
    """
    if ctx.invoked_subcommand is not None:
        return
    from poolwise.datasets.catalogue import CATALOGUE
    from poolwise.datasets.home import data_folder

    home = data_folder(data)
    result = {"folder": str(home), "datasets": [describe(entry, home) for entry in CATALOGUE.values()]}
    if as_json:
        print_json(result)
    else:
        _show(result)


@command.command("fetch", context_settings=options.SETTINGS)
@click.argument("name", metavar="NAME", type=click.Choice(list(PARTS)))
@_DATA
@options.as_json
@options.quiet
@click.pass_context
def fetch(ctx: click.Context, name: str, data: Path | None, as_json: bool, quiet: bool) -> None:
    """Download the data set NAME from its official address, check it and unpack it.

    What is complete already is not downloaded again. An interrupted download resumes where it stopped.

    \b
    Examples:
      poolwise datasets fetch cifar10
      poolwise datasets fetch stl10 --data /data
    """
    from poolwise.datasets.catalogue import CATALOGUE
    from poolwise.datasets.home import VARIABLE, data_folder

    above = ctx.parent.params if ctx.parent is not None else {}
    home = data_folder(data or above.get("data"))
    was_there, there = complete(CATALOGUE[name], home, verbose=not quiet)
    if home.absolute() != data_folder().absolute() and CATALOGUE[name].archive is not None:
        say(f"other commands find it where {VARIABLE}={home} is set")
    if as_json or above.get("as_json"):
        print_json({"name": name, "folder": str(home), "was_there": was_there, "found": _plain(there)})
    else:
        echo(f"{name}: {'already here: ' if was_there else ''}{_places(there)}")


def complete(entry: "DataSet", home: Path, *, verbose: bool) -> tuple[bool, "Found"]:
    """Whether all of a data set was here already, and where it is now; an error if what is here is not the whole."""
    from poolwise.datasets.home import fetched
    from poolwise.images import ImageError

    there = entry.found(home)
    if entry.is_complete(there):
        return True, there
    if entry.archive is None:
        raise FileNotFoundError(f"{entry.name}: its pictures are missing; reinstall poolwise, whose wheel carries them")
    folder = fetched(entry.archive, home, True, verbose)
    there = entry.found(home)
    if not entry.is_complete(there):
        raise ImageError(
            folder,
            f"it is not the whole data set: it has {_counts(_images(there)) or 'no images'}, the official one "
            f"{_counts(entry.parts)}; move it away to fetch it anew, or give another --data",
        )
    return False, there


def describe(entry: "DataSet", home: Path) -> dict[str, Any]:
    """What `--json` prints of one data set; damage is in `problem`, so that it does not hide the others."""
    there: Found = {}
    problem = None
    try:
        there = entry.found(home)
    except (OSError, ValueError) as error:
        problem = in_options(error, command)
    archive = entry.archive
    packed = None if archive is None else home / archive.name
    part = None if packed is None else packed.with_name(f"{packed.name}.part")
    return {
        "name": entry.name,
        "what": entry.what,
        "image_shape": list(entry.shape),
        "classes": entry.n_classes,
        "parts": entry.parts,
        "found": _plain(there),
        "complete": entry.is_complete(there),
        "problem": problem,
        "looked_for": None if archive is None else str(home / archive.folder),
        "archive": None if packed is None or not packed.is_file() else str(packed),
        "partial_bytes": None if part is None or not part.is_file() else part.stat().st_size,
        "download_bytes": entry.download,
        "url": None if archive is None else archive.url,
        "page": entry.page,
        "cite": entry.cite,
    }


def _show(result: dict[str, Any]) -> None:
    for entry in result["datasets"]:
        H, W, c = entry["image_shape"]
        echo(f"{entry['name']}: {entry['what']}")
        lines = {
            "images": f"{_counts(entry['parts'])}; {H}×{W}, {c} channels, {entry['classes']} classes",
            "found": _found(entry),
            "download": "none needed"
            if entry["url"] is None
            else f"about {_size(entry['download_bytes'])} from {entry['url']}",
            "cite": f"{entry['cite']}. {entry['page']}",
        }
        for name, text in lines.items():
            echo(f"  {name:<10}{text}")
        echo()
    echo(f"searched in {result['folder']}; --data or POOLWISE_DATA name another folder")
    echo("Data sets belong to those who made them: their pages say on what terms they may be used.")


def _found(entry: dict[str, Any]) -> str:
    """One line: what was found of a data set, and what to do if that is not all."""
    if entry["problem"] is not None:
        return f"cannot be used: {entry['problem']}"
    there = {part: (Path(one["where"]), one["images"]) for part, one in entry["found"].items()}
    if entry["complete"]:
        return _places(there)
    fetch = f"`poolwise datasets fetch {entry['name']}`"
    if there:
        missing = [part for part in entry["parts"] if part not in there]
        return f"{_places(there)}; not the whole" + (f": no {', '.join(missing)}" if missing else "")
    if entry["url"] is None:
        return "no; reinstall poolwise, whose wheel carries it"
    if Path(entry["looked_for"]).is_dir():
        return f"{entry['looked_for']}, but no part of it is whole"
    if entry["archive"] is not None:
        return f"packed, as {entry['archive']}; {fetch} unpacks it"
    if entry["partial_bytes"] is not None:
        return f"no; {_size(entry['partial_bytes'])} of its archive have arrived, {fetch} resumes from there"
    return f"no, there is no {entry['looked_for']}; {fetch} fetches it"


def _places(there: "Found") -> str:
    """Parts and their numbers of images, by the place where they are."""
    places: dict[Path, dict[str, int]] = {}
    for part, (where, count) in there.items():
        places.setdefault(where, {})[part] = count
    return "; ".join(f"{_counts(counts)} in {where}" for where, counts in places.items())


def _counts(parts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {part}" for part, count in parts.items())


def _images(there: "Found") -> dict[str, int]:
    return {part: count for part, (_, count) in there.items()}


def _plain(there: "Found") -> dict[str, dict[str, Any]]:
    return {part: {"images": count, "where": str(where)} for part, (where, count) in there.items()}


def _size(n_bytes: int) -> str:
    """
    >>> _size(170_000_000), _size(2_600_000_000), _size(0)
    ('170 MB', '2.6 GB', '0 MB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
