"""The command `toolsearch gateway` with a hashing embedder: ``python -m tests.gateway.started mcp.json``."""

import sys
from typing import Any

from toolsearch.cli import app, embedding
from toolsearch.testing import HashingEmbedder


def load(*options: Any, **more: Any) -> HashingEmbedder:
    del options, more
    return HashingEmbedder()


if __name__ == "__main__":
    setattr(embedding, "load_embedder", load)  # noqa: B010 - it is no export of that module
    sys.argv[1:1] = ["gateway"]
    app()
