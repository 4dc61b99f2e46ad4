"""The command `toolsearch gateway` with a hashing embedder: ``python -m tests.gateway.started mcp.json``."""

import sys

from toolsearch.cli import app, embedding
from toolsearch.testing import HashingEmbedder

embedding.load_embedder = lambda spec="hashing": HashingEmbedder()

if __name__ == "__main__":
    sys.argv[1:1] = ["gateway"]
    app()
