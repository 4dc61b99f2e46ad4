"""A peer for tests of the worker: ranks by shared words, and misbehaves where a query asks it to."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from benchmarks.peers.protocol import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], k: int, embed: Embed) -> Search:
    print("A library that prints.")
    if any(tool.name == "broken" for tool in tools):
        raise ValueError("no such tool")

    def search(query: str) -> list[str]:
        words = set(query.split())
        match query:
            case "raise":
                raise RuntimeError("out of luck")
            case "die":
                print("the last words")
                os._exit(3)
            case "hang":
                time.sleep(60)
            case "invent":
                return ["nothing"]
            case "embed":
                ((x, y),) = embed(["three"], "documents")
                ((q, _),) = embed(["three"], "queries")
                return [f"{x:g}", f"{y:g}", f"{q:g}"]
        scores = {tool.name: len(words & set(tool.description.split())) for tool in tools}
        found = [name for name in sorted(scores, key=lambda name: -scores[name]) if scores[name]]
        return found[:k]

    return search
