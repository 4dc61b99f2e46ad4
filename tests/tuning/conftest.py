"""What the tests of tuning share."""

from pathlib import Path

import pytest

from tests.tuning.tiny import build_tiny_model

pytest.importorskip("torch", reason="needs the extra tune")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a BERT model that trains in a second."""
    folder = tmp_path_factory.mktemp("tiny")
    build_tiny_model(folder)
    return folder
