"""How many trainings are averaged, and how much of what they changed is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.average_encoders import average
from benchmarks.embedding import RememberingEmbedder, make_embedder
from benchmarks.scored import ScoredSet, score_set
from benchmarks.unseen import DENSE, FUSED, about, dense_and_fused, unseen_sets
from toolsearch.embedders.bundled import NAME
from toolsearch.embedders.tuned import TunedEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import JsonObject
from toolsearch.tuning.encoder import MINILM
from toolsearch.tuning.export import export_encoder
from toolsearch.tuning.tune import ADAPTER

ONE: Mapping[str, float] = {"final": 1.0}
FOUR: Mapping[str, float] = {"final": 3.0, "fold1": 1.0, "fold2": 1.0, "fold3": 1.0}
"""Folders of trainings with their weights; the short trainings count a third of the long one."""

TRIED: Sequence[tuple[str, Mapping[str, float], float]] = (
    *(("one training", ONE, keep) for keep in (1.0, 0.8, 0.6, 0.4)),
    *(("mean of four", FOUR, keep) for keep in (0.9, 0.8, 0.6)),
)
SHIPPED = ("mean of four", 0.8)


def averages(
    datasets: Sequence[Dataset], embedder: RememberingEmbedder, *, encoders: Path, base: str = MINILM
) -> JsonObject:
    """Each mean of the trainings in `encoders`, exported as the one that ships.

    Raises:
        EvaluationError: a training is not there.
    """
    missing = [name for name in FOUR if not (encoders / name / ADAPTER).is_file()]
    if missing:
        raise EvaluationError(
            f"There is no training in {', '.join(map(repr, missing))} of {str(encoders)!r}."
        )
    sets = unseen_sets(datasets)
    plain = make_embedder("minilm")
    rows: list[list[object]] = [["none", 0.0, *dense_and_fused([score_set(each, plain) for each in sets])]]
    for name, weights, keep in TRIED:
        if (name, keep) == SHIPPED:
            scored = [score_set(each, embedder) for each in sets]
        else:
            folders = {encoders / run: weight for run, weight in weights.items()}
            scored = _scored(sets, folders, keep, base)
        rows.append([name, keep, *dense_and_fused(scored)])
    return {
        "title": "Trainings averaged, and the share that is kept",
        "text": (
            "The change of the encoder's weights by one training of 400 steps, and the mean of it, counted "
            "three times, with three of 150 steps that each left three sets out; a share of the change is "
            f"added to all-MiniLM-L6-v2. {about()} The mean of four at 0.8 ships. It was chosen with these "
            "very sets in view: they were in no training, but of this choice they are no independent judge. "
            "Differences of half a point are within what other requests would change."
        ),
        "columns": ["trainings", "share kept", *DENSE, *FUSED],
        "rows": rows,
    }


def _scored(
    sets: Sequence[Dataset], folders: Mapping[Path, float], keep: float, base: str
) -> list[ScoredSet]:
    with TemporaryDirectory() as folder:
        export_encoder(average(folders, keep=keep, base=base), Path(folder), name=NAME)
        averaged = RememberingEmbedder(TunedEmbedder(folder))
        return [score_set(each, averaged) for each in sets]
