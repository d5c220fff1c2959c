"""Our short docstrings as reStructuredText, before numpydoc sees them.

Above the first section of a docstring (`Parameters` and so on), and everywhere in one that has none,

    X : (n, d) float    y : (n,) labels          becomes a list of X and y
        S = (1/n) Σ f fᵀ                         indented: a block of its own, as it stands
    |x|, 2*K, layer_                             are text, not markup

A word in backquotes is a link where it names something that has a page, else code. Sphinx warns of a name that begins with
`poolwise.` and that nothing has any more.
"""

import re
from importlib import import_module

from docutils import nodes

_UNDERLINE = re.compile(r"^(-{3,}|={3,})$")
_ENTRY = re.compile(r"^(\w[\w ,.*₀-₉]{0,60}?) : (\S.*)$")
_HEADER = re.compile(r"^(\w[\w, ]* : )(.*)$")
_NEXT_ENTRY = re.compile(r" {3,}(?=\w[\w ,]{0,40} : )")
_CODE = re.compile(r"(`+[^`]+`+)")
_REFERENCE = re.compile(r":(?:ref|term):`([^`<]+?)(?: *<[^`]*>)?`")  # into the pages of scikit-learn
_SHOWN = ("fit_transform", "get_support", "score", "transform")
_MARKUP = re.compile(r"(?<!\\)([*|]|(?<=\w)_(?!\w))")


def rewritten(lines):
    """The lines of a docstring, with those of our short form as reStructuredText.

    >>> rewritten(["Do it.", "", "X : (n, d)    y : (n,)"])
    ['Do it.', '', '**X** : (n, d)', '', '**y** : (n,)', '']
    """
    head = _end_of_prose(lines)
    found, number = [], 0
    while number < head:
        line = lines[number]
        if line.lstrip().startswith(">>>"):
            while number < head and lines[number].strip():
                found.append(lines[number])
                number += 1
        elif line.startswith(" ") and (not found or not found[-1].strip()):
            block = []
            while number < head and (lines[number].startswith(" ") or not lines[number].strip()):
                block.append(lines[number])
                number += 1
            found += ["::", "", *block, ""]
        elif _ENTRY.match(line):
            number, entries = _entries(lines, number, head)
            if found and found[-1].strip():
                found.append("")
            found += entries
        else:
            found.append(escaped(line))
            number += 1
    return found + [_HEADER.sub(lambda match: match[1] + escaped(match[2]), line) for line in lines[head:]]


def escaped(line):
    """
    >>> escaped("|x| of `a_b_`, layer_ and 2*K")
    '\\\\|x\\\\| of `a_b_`, layer\\\\_ and 2\\\\*K'
    """
    parts = _CODE.split(line)
    return "".join(part if part.startswith("`") else _MARKUP.sub(r"\\\1", part) for part in parts)


def _end_of_prose(lines):
    for number in range(1, len(lines)):
        if _UNDERLINE.match(lines[number].strip()) and lines[number - 1].strip():
            return number - 1
    return len(lines)


def _entries(lines, number, head):
    found = []
    while number < head and (match := _ENTRY.match(lines[number])):
        text = [lines[number]]
        number += 1
        while number < head and lines[number].strip() and not _ENTRY.match(lines[number]):
            text.append(lines[number].strip())
            number += 1
        for entry in _NEXT_ENTRY.split(" ".join(text) if len(text) > 1 else text[0]):
            match = _ENTRY.match(entry)
            name, rest = match.groups() if match else ("", entry)
            found += [f"**{name.strip()}** : {escaped(rest)}" if name else escaped(rest), ""]
    return number, found


def process(app, what, name, obj, options, lines):
    lines[:] = rewritten([_REFERENCE.sub(r"\1", line) for line in lines])


def skip(app, what, name, obj, skipped, options):
    """Members that come from scikit-learn are described there, but for those that a reader looks for here."""
    if name in _SHOWN:
        return None
    home = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None) or ""
    if home.startswith("sklearn") or re.fullmatch(r"set_\w+_request", name):
        return True
    return None


def unresolved(app, env, node, contnode):
    """A word in backquotes that has no page is code."""
    target = node.get("reftarget", "")
    if node.get("reftype") == "obj" and (not target.startswith("poolwise.") or _exists(target)):
        return nodes.literal("", contnode.astext())
    return None


def _exists(name):
    home, _, last = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        return hasattr(import_module(home), last)
    return True


def setup(app):
    app.connect("autodoc-process-docstring", process, priority=100)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", unresolved)
    return {"parallel_read_safe": True}
