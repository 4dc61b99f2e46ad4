from pathlib import Path

import pytest

from benchmarks.embedding import RememberingEmbedder
from toolsearch.testing import HashingEmbedder


@pytest.fixture
def embedder(tmp_path: Path) -> RememberingEmbedder:
    return RememberingEmbedder(HashingEmbedder(), tmp_path / "vectors.sqlite")
