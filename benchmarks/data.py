"""Data sets by name.

- ``demo``: the demo set of this repository
- ``bfcl``: BFCL from the package ``bfcl-eval``, which `loaders.bfcl` says how to install
- ``bench/NAME``: the folder ``NAME`` of the data folder given with ``--data``
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from toolsearch.evaluation.datasets import Dataset, load_dataset_folder
from toolsearch.exceptions import EvaluationError

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_DATA = REPOSITORY.parent / "shared" / "bench"

BENCH_PREFIX = "bench/"


def load_named(name: str, data: Path) -> Dataset:
    """The data set called `name`.

    Raises:
        EvaluationError: an unknown name, or a data set that is not there or not as it should be.
    """
    if name == "demo":
        return load_dataset_folder(REPOSITORY / "indexes" / "demo", name=name)
    if name == "bfcl":
        from benchmarks.loaders.bfcl import load_bfcl

        return load_bfcl()
    if name.startswith(BENCH_PREFIX):
        return load_dataset_folder(data / name.removeprefix(BENCH_PREFIX), name=name)
    raise EvaluationError(f"There is no data set {name!r}: it is 'demo', 'bfcl' or 'bench/NAME'.")


def is_there(name: str, data: Path) -> bool:
    """Whether a data set that lies outside of this repository can be read here."""
    if name == "bfcl":
        return importlib.util.find_spec("bfcl_eval") is not None
    return not name.startswith(BENCH_PREFIX) or (data / name.removeprefix(BENCH_PREFIX)).is_dir()
