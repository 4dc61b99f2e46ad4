"""The weights of an exported encoder, as transformers names them: to tune it further."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from toolsearch.exceptions import TuningError
from toolsearch.tuning.graph import PARTS, SCALE, TOGETHER, BertShape, Floats


def read_weights(path: Path) -> tuple[dict[str, Floats], BertShape]:
    """What `build_graph` was given, in float32; int8 weights are off by at most half of their scale.

    Raises:
        TuningError: the file is no graph that `build_graph` made.
    """
    try:
        model = onnx.load(path)
        facts = {prop.key: prop.value for prop in model.metadata_props}
        shape = BertShape(
            int(facts["hidden_size"]),
            int(facts["num_hidden_layers"]),
            int(facts["num_attention_heads"]),
            float(facts["layer_norm_eps"]),
        )
        held = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        weights = {name: held[name] for name in held if name.startswith(("embeddings.", "encoder."))}
        scales = {name.removesuffix(SCALE): weights.pop(name) for name in held if name.endswith(SCALE)}
        weights |= {name: weights[name].astype(np.float32) * scale for name, scale in scales.items()}
        for layer in range(shape.num_hidden_layers):
            _take_apart(weights, f"encoder.layer.{layer}.", shape)
    except Exception as exc:
        # protobuf and onnx fail in many ways on bytes that they did not write.
        raise TuningError(f"{str(path)!r} holds no encoder that can be tuned: {exc!r}") from exc
    return weights, shape


def _take_apart(weights: dict[str, Floats], prefix: str, shape: BertShape) -> None:
    """Put the three maps of attention, and all matrices of a layer, the way `build_graph` got them."""
    matrix, bias = (weights.pop(f"{prefix}{TOGETHER}{kind}") for kind in ("weight", "bias"))
    for part, columns, values in zip(PARTS, np.split(matrix, 3, axis=1), np.split(bias, 3), strict=True):
        scale = np.float32(math.sqrt(shape.head_size) if part == PARTS[0] else 1)
        weights[f"{prefix}{part}weight"] = np.ascontiguousarray(columns.T) * scale
        weights[f"{prefix}{part}bias"] = values * scale
    for part in ("attention.output.dense.", "intermediate.dense.", "output.dense."):
        name = f"{prefix}{part}weight"
        weights[name] = np.ascontiguousarray(weights[name].T)
