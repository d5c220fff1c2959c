"""A `Graph` as `onnx` has it. The only module that needs the package."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from poolwise.export.graph import Graph
from poolwise.support.types import Array

if TYPE_CHECKING:
    import onnx

OPSET, IR_VERSION = 17, 8


def proto(
    graph: Graph, shape: list[Any], dtype: str, outputs: list[str], sizes: dict[str, int], about: dict[str, str]
) -> "onnx.ModelProto":
    """The checked model. shape, dtype : of the images    sizes : numbers of features and classes    about : metadata"""
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise ImportError("export needs onnx, which is not installed: pip install 'poolwise[onnx]'", name="onnx") from error

    n, classes = "n", sizes["classes"]
    kinds: dict[str, tuple[int, list[Any]]] = {
        "features": (TensorProto.FLOAT, [n, sizes["features"]]),
        "margins": (TensorProto.FLOAT, [n, classes]),
        "probabilities": (TensorProto.FLOAT, [n, classes]),
        "label_index": (TensorProto.INT64, [n]),
        "label": (TensorProto.STRING, [n]),
    }
    made = helper.make_graph(
        [_node(node.op, node.inputs, node.output, node.attributes) for node in graph.nodes],
        "poolwise",
        [helper.make_tensor_value_info("images", TensorProto.UINT8 if dtype == "uint8" else TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, *kinds[name]) for name in outputs],
        [_tensor(name, value) for name, value in graph.constants.items()],
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="poolwise",
        producer_version=version("poolwise"),
    )
    helper.set_model_props(model, about)
    checker.check_model(model, full_check=True)
    return model


def _node(op: str, inputs: tuple[str, ...], output: str, attributes: dict[str, Any]) -> "onnx.NodeProto":
    from onnx import helper

    if "to_type" in attributes:
        attributes = {"to": helper.np_dtype_to_tensor_dtype(attributes["to_type"])}
    return helper.make_node(op, inputs, [output], name=output, **attributes)


def _tensor(name: str, value: Array) -> "onnx.TensorProto":
    from onnx import TensorProto, helper, numpy_helper

    if value.dtype == object:
        return helper.make_tensor(name, TensorProto.STRING, value.shape, [text.encode() for text in value.tolist()])
    return numpy_helper.from_array(np.asarray(value, order="C"), name)
