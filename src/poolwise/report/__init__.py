"""What was learned, to look at: a page of HTML, pictures and charts."""

from typing import TYPE_CHECKING, Any

from poolwise.report.draw.mosaic import cluster_mosaic, code_mosaic
from poolwise.report.draw.pictures import draw_clusters, draw_codes

if TYPE_CHECKING:
    from poolwise.report.draw.figures import draw_confusion, draw_objective, draw_similarity, draw_spectrum
    from poolwise.report.page import write_report

__all__ = [
    "cluster_mosaic",
    "code_mosaic",
    "draw_clusters",
    "draw_codes",
    "draw_confusion",
    "draw_objective",
    "draw_similarity",
    "draw_spectrum",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """What needs matplotlib, jinja2 or the estimators is imported when it is asked for."""
    if name == "write_report":
        from poolwise.report.page import write_report

        return write_report
    if name in __all__:
        try:
            from poolwise.report.draw import figures
        except ModuleNotFoundError as error:
            raise ImportError("charts need matplotlib: pip install 'poolwise[report]'") from error
        return getattr(figures, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
