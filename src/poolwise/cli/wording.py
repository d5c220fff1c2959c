"""The library's errors speak of its parameters; on the command line these are options."""

import re

OPTIONS = {
    "n_codes": "--codes",
    "n_candidates": "--candidates",
    "n_super_patches": "--super-patches",
    "n_patches": "--patches",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "selection",
            "transform",
            "patch_size",
            "stride",
            "dictionary",
            "init",
            "max_iter",
            "tol",
            "contrast",
            "contrast_offset",
            "whitening",
            "whitening_offset",
            "encoder",
            "alpha",
            "two_sided",
            "pool",
            "grid",
            "scale",
            "scale_offset",
            "gamma",
            "member",
            "columns",
            "max_pixels",
            "resize",
            "crop",
        )
    },
}
_WHOLE_PHRASES = {
    "resize=(height, width) (--resize), and crop=True": "--resize HEIGHTxWIDTH, and --crop",
    "columns=(..., ...)": "--columns PATH,LABEL",
    "member=": "--member",
    "two_sided=True": "--two-sided",
    "give another data_home": "name another folder with POOLWISE_DATA",
}
_OF_COMMAND = {
    "datasets": {"give another data_home": "give another --data"},
    "fit": {"labels=None": "--classifier none"},
    "evaluate": {
        "give labels=None to take all without labels": "use `poolwise predict`, which needs no labels",
        "labels=None to go without": "use `poolwise predict`, which needs none",
    },
    "report": {
        "give labels=None to take all without labels": "give --no-labels to take all without labels",
        "labels=None to go without": "--no-labels to go without",
    },
    "plan": {", or give labels=None to take all without labels": "", ", or labels=None to go without": ""},
}
_NAMES = re.compile(rf"(?<![\w./-])({'|'.join(sorted(OPTIONS, key=len, reverse=True))})(=|\b)")


def as_options(message: str, command: str = "fit") -> str:
    """Names of parameters as options; a word of plain English, such as scale, only where a value follows it.

    >>> as_options("n_codes=5 codes cannot be selected from n_candidates=3")
    '--codes 5 codes cannot be selected from --candidates 3'
    >>> as_options("scale='cell' has a scale; give contrast=None")
    "--scale 'cell' has a scale; give --contrast none"
    """
    for phrase, said in (_WHOLE_PHRASES | _OF_COMMAND.get(command, {})).items():
        message = message.replace(phrase, said)

    def said_as_option(found: re.Match[str]) -> str:
        name, follows = found[1], found[2]
        if not follows and "_" not in name:
            return found[0]
        return f"{OPTIONS[name]}{' ' if follows else ''}"

    return re.sub(r"(--[a-z-]+) None\b", r"\1 none", _NAMES.sub(said_as_option, message))
