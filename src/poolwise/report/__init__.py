"""Pictures of what was learned."""

from poolwise.report.mosaic import cluster_mosaic, code_mosaic

__all__ = ["cluster_mosaic", "code_mosaic"]
