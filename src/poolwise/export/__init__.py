"""Models for programs that know nothing of poolwise."""

from poolwise.export.known import ExportError
from poolwise.export.writing import export_onnx, to_onnx

__all__ = ["ExportError", "export_onnx", "to_onnx"]
