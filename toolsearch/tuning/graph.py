"""A BERT encoder as an ONNX graph whose tables and matrices are int8, one scale a row or column.

The graph is written operator by operator: it needs no trace of a run, and holds nothing but what a
sentence encoder computes. Weights are int8 on disk and multiplied in float32, as those of the bundled
encoder are; the word table stays int8 in memory, as rows are scaled after they are looked up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import TensorProto, helper, numpy_helper

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]

OPSET = 17
SCALE = ".scale"
"""Ends the name of the scales of an int8 table or matrix."""
TOGETHER = "attention.self."
PARTS = ("attention.self.query.", "attention.self.key.", "attention.self.value.")
"""Three maps of a layer that are one matrix, `TOGETHER`, in the graph."""
_IR_VERSION = 8
# Far below any score, and far from what float32 can hold.
_MASKED = -1e9
_INT8_MAX = 127


@dataclass(frozen=True)
class BertShape:
    """The sizes of a BERT encoder, as its configuration names them."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float

    @classmethod
    def of(cls, config: Any) -> BertShape:
        """The sizes in a ``BertConfig`` of transformers."""
        return cls(
            config.hidden_size, config.num_hidden_layers, config.num_attention_heads, config.layer_norm_eps
        )

    @property
    def head_size(self) -> int:
        """Length of the vectors of one attention head."""
        return self.hidden_size // self.num_attention_heads


def build_graph(weights: Weights, shape: BertShape, *, int8: bool = True) -> onnx.ModelProto:
    """The encoder of these weights, named as transformers names those of ``BertModel``.

    Inputs ``input_ids``, ``attention_mask`` and ``token_type_ids``, all (batch, sequence) int64; output
    ``last_hidden_state``, (batch, sequence, hidden) float32. Without `int8` all weights are float32.
    """
    graph = GraphBuilder(weights, shape, int8)
    x = graph.embeddings()
    for layer in range(shape.num_hidden_layers):
        x = graph.layer(x, f"encoder.layer.{layer}.")
    graph.node("Identity", [x], "last_hidden_state")
    sizes: list[str | int] = ["batch", "sequence"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, sizes)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, [*sizes, shape.hidden_size]
    )
    return graph.model("encoder", inputs, [output], asdict(shape))


def quantized(matrix: Floats, axis: int) -> tuple[NDArray[np.int8], Floats]:
    """The matrix in int8 and its scales; `axis` is the one that a scale is shared along.

    Symmetric: the largest value of each row or column becomes 127, and zero stays zero. Each value is off
    by at most half of its scale.
    """
    scales = np.abs(matrix).max(axis=axis, keepdims=True).astype(np.float32) / np.float32(_INT8_MAX)
    scales[scales == 0] = 1
    return np.rint(matrix / scales).astype(np.int8), scales


@dataclass
class GraphBuilder:
    """The operators and weights of a graph, put together one by one; each gives the name of its output."""

    weights: Weights
    shape: BertShape
    int8: bool
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

    def model(
        self,
        name: str,
        inputs: list[onnx.ValueInfoProto],
        outputs: list[onnx.ValueInfoProto],
        facts: Mapping[str, object],
    ) -> onnx.ModelProto:
        """The graph as a checked model with `facts` beside it."""
        made = helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = _IR_VERSION
        helper.set_model_props(model, {key: str(value) for key, value in facts.items()})
        onnx.checker.check_model(model)
        return model

    def node(self, operator: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, values: ArrayLike, name: str = "") -> str:
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def embeddings(self) -> str:
        length = self.node("Shape", ["input_ids"], start=1, end=2)
        zero, one = self.constant(np.array(0)), self.constant(np.array(1))
        end = self.node("Squeeze", [length])
        places = self.node("Range", [zero, end, one])
        words = self.rows("embeddings.word_embeddings.weight", "input_ids")
        kinds = self.rows("embeddings.token_type_embeddings.weight", "token_type_ids")
        positions = self.rows("embeddings.position_embeddings.weight", places)
        total = self.node("Add", [self.node("Add", [words, kinds]), positions])
        mask = self.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        absent = self.node("Sub", [self.constant(np.float32(1)), mask])
        penalty = self.node("Mul", [absent, self.constant(np.float32(_MASKED))])
        self.node("Unsqueeze", [penalty, self.constant(np.array([1, 2]))], "mask")
        return self.norm(total, "embeddings.LayerNorm.")

    def layer(self, x: str, prefix: str) -> str:
        heads, head, hidden = self.shape.num_attention_heads, self.shape.head_size, self.shape.hidden_size
        parts = [f"{prefix}{part}" for part in PARTS]
        matrices = [self.weights[f"{part}weight"].T for part in parts]
        biases = [self.weights[f"{part}bias"] for part in parts]
        # The scale of the scores is put into the queries, and the three maps into one product.
        scale = np.float32(1 / math.sqrt(head))
        matrices[0], biases[0] = matrices[0] * scale, biases[0] * scale
        together = self.linear(
            x, np.concatenate(matrices, axis=1), np.concatenate(biases), f"{prefix}{TOGETHER}"
        )
        split = self.node("Reshape", [together, self.constant(np.array([0, 0, 3, heads, head]))])
        turned = self.node("Transpose", [split], perm=[2, 0, 3, 1, 4])
        q, k, v = (self.node("Gather", [turned, self.constant(np.array(i))], axis=0) for i in range(3))
        scores = self.node("MatMul", [q, self.node("Transpose", [k], perm=[0, 1, 3, 2])])
        shares = self.node("Softmax", [self.node("Add", [scores, "mask"])], axis=-1)
        mixed = self.node("Transpose", [self.node("MatMul", [shares, v])], perm=[0, 2, 1, 3])
        joined = self.node("Reshape", [mixed, self.constant(np.array([0, 0, hidden]))])
        return self.after_attention(joined, x, prefix)

    def after_attention(self, joined: str, x: str, prefix: str) -> str:
        """What a layer makes of `x` and of what its heads gave, `joined`."""
        x = self.norm(
            self.node("Add", [self.named_linear(joined, f"{prefix}attention.output.dense."), x]),
            f"{prefix}attention.output.LayerNorm.",
        )
        wide = self.gelu(self.named_linear(x, f"{prefix}intermediate.dense."))
        return self.norm(
            self.node("Add", [self.named_linear(wide, f"{prefix}output.dense."), x]),
            f"{prefix}output.LayerNorm.",
        )

    def rows(self, name: str, ids: str) -> str:
        """The rows of a table, each of which has a scale of its own."""
        table = self.weights[name]
        if not self.int8:
            return self.node("Gather", [self.constant(table, name), ids])
        values, scales = quantized(table, axis=1)
        found = self.node("Gather", [self.constant(values, name), ids])
        scale = self.node("Gather", [self.constant(scales, f"{name}{SCALE}"), ids])
        return self.node("Mul", [self.node("Cast", [found], to=TensorProto.FLOAT), scale])

    def named_linear(self, x: str, prefix: str) -> str:
        return self.linear(x, self.weights[f"{prefix}weight"].T, self.weights[f"{prefix}bias"], prefix)

    def linear(self, x: str, matrix: Floats, bias: Floats, prefix: str) -> str:
        """``x @ matrix + bias``; each column of the matrix has a scale of its own."""
        if self.int8:
            values, scales = quantized(matrix, axis=0)
            cast = self.node("Cast", [self.constant(values, f"{prefix}weight")], to=TensorProto.FLOAT)
            held = self.node("Mul", [cast, self.constant(scales, f"{prefix}weight{SCALE}")])
        else:
            held = self.constant(matrix.astype(np.float32), f"{prefix}weight")
        product = self.node("MatMul", [x, held])
        return self.node("Add", [product, self.constant(bias.astype(np.float32), f"{prefix}bias")])

    def norm(self, x: str, prefix: str) -> str:
        scale = self.constant(self.weights[f"{prefix}weight"], f"{prefix}weight")
        bias = self.constant(self.weights[f"{prefix}bias"], f"{prefix}bias")
        return self.node("LayerNormalization", [x, scale, bias], axis=-1, epsilon=self.shape.layer_norm_eps)

    def gelu(self, x: str) -> str:
        """``x / 2 * (1 + erf(x / sqrt 2))``."""
        erf = self.node("Erf", [self.node("Div", [x, self.constant(np.float32(math.sqrt(2)))])])
        grown = self.node("Mul", [x, self.node("Add", [erf, self.constant(np.float32(1))])])
        return self.node("Mul", [grown, self.constant(np.float32(0.5))])
