"""What is kept on disk of a training that has not ended."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from toolsearch.exceptions import TuningError
from toolsearch.tuning.pairs import PairSource
from toolsearch.tuning.settings import TuneSettings

FILE = "checkpoint.pt"


@dataclass
class Checkpoint:
    """All that a training needs to go on, and the weights that were best so far.

    Attributes:
        mark: What was trained on and how; another mark cannot go on from here.
        steps: Planned in all.
        ndcg: (step, NDCG@10 on the held-out sources).
    """

    mark: str
    steps: int = 0
    step: int = 0
    best_step: int = 0
    ndcg: list[tuple[int, float]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=dict)

    def is_over(self, settings: TuneSettings) -> bool:
        """Whether `patience` measurements have passed without a gain."""
        if settings.patience is None:
            return False
        since = [step for step, _ in self.ndcg if step > self.best_step]
        return len(since) >= settings.patience


def fingerprint(
    weights: str, sources: Sequence[PairSource], held_out: Sequence[PairSource], settings: TuneSettings
) -> str:
    """SHA-256 over all that decides a training, as 64 hex digits."""
    free = {"threads", "checkpoint_every"}
    decisive = {key: value for key, value in settings.to_json().items() if key not in free}
    whole = hashlib.sha256(json.dumps([weights, decisive], sort_keys=True).encode())
    for source in (*sources, *held_out):
        examples = [list(asdict(example).values()) for example in source.examples]
        record = [source.name, source.documents, source.keys, source.weight, examples]
        whole.update(json.dumps(record).encode())
    return whole.hexdigest()


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `folder`; a reader sees the old one or the new one."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"{FILE}.new"
    with fresh.open("wb") as file:
        torch.save(vars(checkpoint), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / FILE)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint in `folder`; None where there is none.

    Raises:
        TuningError: it cannot be read.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return Checkpoint(**torch.load(path, map_location="cpu", weights_only=True))
    except Exception as exc:
        # Damaged bytes make torch fail in many ways.
        raise TuningError(f"The checkpoint {str(path)!r} cannot be read: {exc}") from exc
