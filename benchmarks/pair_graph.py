"""A trained reranker as an ONNX graph with int8 weights, and its folder for `PairReranker`."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.pair_model import PairModel
from benchmarks.pair_reranker import WEIGHTS, RerankerConfig
from toolsearch.embedders.tuned import WEIGHTS as ENCODER_WEIGHTS
from toolsearch.exceptions import TuningError
from toolsearch.tuning.encoder import TextEncoder
from toolsearch.tuning.graph import PARTS, BertShape, GraphBuilder, Weights

QUERY, *KEYS = PARTS


def export_reranker(
    pairs: PairModel,
    encoder: TextEncoder,
    folder: Path,
    *,
    name: str,
    query_tokens: int,
    document_tokens: int,
) -> None:
    """Write the reranker as int8 ONNX with ``reranker.json``; `encoder` is the exported one that it was
    trained on.

    Raises:
        TuningError: the encoder is none that `export_encoder` wrote.
    """
    shape = replace(BertShape.of(encoder.model.config), num_hidden_layers=len(pairs.layers))
    weights = {key: value.detach().cpu().numpy() for key, value in pairs.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    content = build_pair_graph(weights, shape).SerializeToString()
    (folder / WEIGHTS).write_bytes(content)
    query, document = _state_names(encoder.folder / ENCODER_WEIGHTS, shape.num_hidden_layers)
    RerankerConfig(
        name=name,
        encoder_sha256=encoder.sha256,
        query_state=query,
        document_state=document,
        query_tokens=query_tokens,
        document_tokens=document_tokens,
        weights_sha256=hashlib.sha256(content).hexdigest(),
    ).write(folder)


def build_pair_graph(weights: Weights, shape: BertShape, *, int8: bool = True) -> onnx.ModelProto:
    """The graph of a `PairModel` with these weights; `shape` says how many layers it has.

    Inputs ``query`` and ``document``, (n, tokens, hidden) without padding, and ``vector`` (n, hidden), all
    float32; output ``score`` (n,), log odds.
    """
    graph = _PairGraph(weights, shape, int8)
    told = graph.node("Add", ["document", graph.constant(weights["part"], "part")])
    x = "query"
    for layer in range(shape.num_hidden_layers):
        x = graph.read(x, told, f"layers.{layer}.")
    graph.head(x)
    hidden = shape.hidden_size
    sizes: dict[str, list[str | int]] = {
        "query": ["pairs", "asked", hidden],
        "document": ["pairs", "told", hidden],
        "vector": ["pairs", hidden],
    }
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes.items()]
    output = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["pairs"])
    return graph.model("reranker", inputs, [output], asdict(shape))


class _PairGraph(GraphBuilder):
    def read(self, x: str, told: str, prefix: str) -> str:
        """`x` after a layer whose heads see `x` and what is told."""
        heads, head, hidden = self.shape.num_attention_heads, self.shape.head_size, self.shape.hidden_size
        seen = self.node("Concat", [x, told], axis=1)
        scale = np.float32(1 / math.sqrt(head))
        asked = self.linear(
            x,
            self.weights[f"{prefix}{QUERY}weight"].T * scale,
            self.weights[f"{prefix}{QUERY}bias"] * scale,
            f"{prefix}{QUERY}",
        )
        both = self.linear(
            seen,
            np.concatenate([self.weights[f"{prefix}{part}weight"].T for part in KEYS], axis=1),
            np.concatenate([self.weights[f"{prefix}{part}bias"] for part in KEYS]),
            f"{prefix}{KEYS[0]}",
        )
        split = self.node("Reshape", [asked, self.constant(np.array([0, 0, heads, head]))])
        q = self.node("Transpose", [split], perm=[0, 2, 1, 3])
        halves = self.node("Reshape", [both, self.constant(np.array([0, 0, 2, heads, head]))])
        turned = self.node("Transpose", [halves], perm=[2, 0, 3, 1, 4])
        k, v = (self.node("Gather", [turned, self.constant(np.array(i))], axis=0) for i in range(2))
        scores = self.node("MatMul", [q, self.node("Transpose", [k], perm=[0, 1, 3, 2])])
        shares = self.node("Softmax", [scores], axis=-1)
        mixed = self.node("Transpose", [self.node("MatMul", [shares, v])], perm=[0, 2, 1, 3])
        joined = self.node("Reshape", [mixed, self.constant(np.array([0, 0, hidden]))])
        return self.after_attention(joined, x, prefix)

    def head(self, x: str) -> str:
        """The score from the last states of the query, and the vector of the document."""
        mean = self.node("ReduceMean", [x], axes=[1], keepdims=0)
        unit = self.node("LpNormalization", [mean], axis=1, p=2)
        product = self.node("Mul", [unit, "vector"])
        distance = self.node("Abs", [self.node("Sub", [unit, "vector"])])
        first = self.node("Gather", [x, self.constant(np.array(0))], axis=1)
        features = self.node("Concat", [product, distance, first], axis=1)
        weighed = self.node("MatMul", [features, self.constant(self.weights["head.weight"].T, "head.weight")])
        known = self.node("Add", [weighed, self.constant(self.weights["head.bias"], "head.bias")])
        cosine = self.node("ReduceSum", [product, self.constant(np.array([1]))], keepdims=1)
        scaled = self.node("Mul", [cosine, self.constant(self.weights["scale"], "scale")])
        total = self.node("Add", [known, scaled])
        return self.node("Squeeze", [total, self.constant(np.array([1]))], "score")


def _state_names(path: Path, layers: int) -> tuple[str, str]:
    """The names, in an exported encoder, of the states below its upper `layers` and below its last one."""
    try:
        nodes = onnx.load(path).graph.node
    except Exception as exc:
        # protobuf fails in many ways on bytes that it did not write.
        raise TuningError(f"{str(path)!r} is no exported encoder: {exc!r}") from exc
    # One norm behind the embeddings, then two in each layer.
    norms = [node.output[0] for node in nodes if node.op_type == "LayerNormalization"]
    return norms[-1 - 2 * layers], norms[-3]
