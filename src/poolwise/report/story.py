"""Sections of Markdown with pictures as one self-contained HTML page: what `poolwise reproduce --report` writes."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from poolwise.report.draw.sprites import data_uri
from poolwise.report.html import as_utf8, own, render
from poolwise.support.files import replacing

_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Chapter:
    """title, text : Markdown with pictures by file name    pictures : PNG files' bytes by that name"""

    title: str
    text: str
    pictures: Mapping[str, bytes] = field(default_factory=dict)


def write_story(path: str | os.PathLike[str], title: str, chapters: Sequence[Chapter]) -> None:
    """Write the page; HTML in the Markdown shows as text, and a picture that is not there as its description."""
    made = [{"title": chapter.title, "body": _as_html(chapter)} for chapter in chapters]
    html = render(own("story.html"), trusted={"style": own("report.css")}, title=title, chapters=made)
    with replacing(path) as temporary:
        temporary.write_bytes(as_utf8(html))


def _as_html(chapter: Chapter) -> Any:
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    def embed(link: re.Match[str]) -> str:
        found = chapter.pictures.get(link[2])
        return f"*{link[1]}*" if found is None else f"![{link[1]}]({data_uri('image/png', found)})"

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    return Markup(markdown.render(_PICTURE.sub(embed, chapter.text)))  # noqa: S704  html=False escapes what is in it
