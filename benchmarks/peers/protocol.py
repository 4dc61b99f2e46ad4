"""What a run and a peer's worker say to each other: one JSON object a line, over the worker's pipes.

A worker first says ``{"versions": {package: version}}``. Then the run sends

- ``{"tools": [...], "k": n}``: answered by ``{"ready_s": seconds}`` once the catalog is indexed
- ``{"query": text}``: answered by ``{"names": [...], "ms": wall time, "cpu_ms": of the process}``, best first

and at any time before its answer the worker may ask ``{"embed": [texts], "as": "documents" | "queries"}``,
answered by ``{"vectors": base64 of float32, "dim": n}``. ``{"error": text}`` ends what it answers.

Nothing here or in the modules that a worker imports may need this project's package: a peer's environment
holds the peer alone.
"""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any, Literal, TypeAlias

EmbedAs: TypeAlias = Literal["documents", "queries"]

Embed: TypeAlias = Callable[[Sequence[str], EmbedAs], list[list[float]]]
"""Unit vectors of texts, by the encoder that the run gives to peers without one of their own."""

Search: TypeAlias = Callable[[str], list[str]]
"""The names of the tools that a query finds, best first."""


@dataclass(frozen=True)
class PeerTool:
    """A tool as peers get it.

    Attributes:
        name: Unique in the catalog and readable: ``server__raw_name``, or the raw name of a local tool.
        server, raw_name: Apart, for the peers that know of servers.
    """

    name: str
    server: str = ""
    raw_name: str = ""
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def write_message(stream: IO[str], message: dict[str, Any]) -> None:
    # ASCII with escapes: a lone surrogate in a text has no UTF-8.
    stream.write(json.dumps(message) + "\n")
    stream.flush()


def encode_vectors(rows: Any) -> dict[str, Any]:
    """A float32 matrix as a message."""
    return {"vectors": base64.b64encode(rows.tobytes()).decode("ascii"), "dim": int(rows.shape[1])}


def decode_vectors(message: dict[str, Any]) -> list[list[float]]:
    """The rows of a message, without numpy, which a peer's environment may lack."""
    flat = array("f", base64.b64decode(message["vectors"])).tolist()
    dim = message["dim"]
    return [flat[start : start + dim] for start in range(0, len(flat), dim)]
