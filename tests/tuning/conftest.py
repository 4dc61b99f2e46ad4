"""What the tests of tuning share."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tuning.tiny import build_tiny_model

if find_spec("torch") is None or find_spec("onnx") is None:
    # These need the extra `tune`.
    collect_ignore = [
        "test_average.py",
        "test_export.py",
        "test_lora.py",
        "test_loss.py",
        "test_static.py",
        "test_training.py",
    ]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a BERT model that trains in a second."""
    folder = tmp_path_factory.mktemp("tiny")
    build_tiny_model(folder)
    return folder
