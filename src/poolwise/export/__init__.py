"""A model out of Python: a page that runs it in a browser."""

from poolwise.export.page import export_page

__all__ = ["export_page"]
