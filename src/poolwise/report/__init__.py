"""Pictures of what was learned."""

from poolwise.report.mosaic import code_mosaic

__all__ = ["code_mosaic"]
