"""One HTML file from a template, with its style and script inside: nothing is asked of any server.

Text is escaped by the template engine. Data goes into a block that browsers do not run, with what could end the block escaped;
and a policy in the page allows only the one script whose hash it names.
"""

import base64
import hashlib
import json
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def as_data(value: Any) -> str:
    r"""JSON that can stand in a script element: nothing in it ends the element or is read as HTML.

    >>> as_data(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign, escaped in _UNSAFE.items():
        text = text.replace(sign, escaped)
    return text


def as_utf8(html: str) -> bytes:
    """A page's bytes; names of files that are not text show their bytes as \\x.."""
    return html.encode("utf-8", "backslashreplace")


@lru_cache
def own(name: str, package: str = "poolwise.report") -> str:
    """A file of a package's folder of assets."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def render(template: str, script: str = "", trusted: dict[str, str] | None = None, **text: Any) -> str:
    """A template as `own` gives it, filled: `text` is escaped, `trusted` and the script are ours and are not."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError as error:
        raise ValueError("reports need jinja2: pip install 'poolwise[report]'") from error
    engine = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    raw = {name: Markup(value) for name, value in (trusted or {}).items()}  # noqa: S704  our own files and numbers
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    page: str = engine.from_string(template).render(
        script=Markup(script),  # noqa: S704
        script_hash=f"sha256-{digest}",
        version=version("poolwise"),
        **raw,
        **text,
    )
    return page
