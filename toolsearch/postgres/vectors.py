"""Vectors on their way to pgvector and back, to the bit: the binary form of its type ``vector``."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_HEAD = struct.Struct("!HH")

MAX_DIM = 16_000
"""Of a stored vector."""

MAX_INDEXED_DIM = 4000
"""Of a half-precision vector in an HNSW index."""


def to_binary(vector: NDArray[np.float32]) -> bytes:
    """What ``vector_recv`` takes: the length, two zero bytes, and the values (dim,) as big-endian float32."""
    return _HEAD.pack(len(vector), 0) + vector.astype(">f4").tobytes()


def from_binary(data: bytes) -> NDArray[np.float32]:
    """The vector (dim,) of what ``vector_send`` gives."""
    return np.frombuffer(data, dtype=">f4", offset=_HEAD.size).astype(np.float32)
