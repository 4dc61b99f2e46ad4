"""Training: what it reaches, and that it is the same however it is interrupted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tuning.tiny import TOOLS
from toolsearch.exceptions import TuningError
from toolsearch.testing import HashingEmbedder
from toolsearch.tuning.encoder import TextEncoder, load_encoder
from toolsearch.tuning.measure import source_ndcg
from toolsearch.tuning.pairs import Example, PairSource, tool_source
from toolsearch.tuning.settings import TuneSettings
from toolsearch.tuning.training import StepReport, learning_rate, train

SETTINGS = TuneSettings(
    steps=30,
    rank=4,
    alpha=8,
    layers=None,
    learning_rate=5e-3,
    batch_pairs=6,
    batch_sources=2,
    hard_negatives=0,
    evaluate_every=10,
    checkpoint_every=7,
    precision="fp32",
    threads=1,
    device="cpu",
)
QUERIES = {
    "what is the sun for my day": 0,
    "is the city sun": 0,
    "rain": 1,
    "send the draft": 2,
    "what is my parcel": 3,
    "list my meeting": 4,
    "money for the invoice": 5,
    "get my money": 6,
}


@pytest.fixture
def source() -> PairSource:
    examples = [Example(query, (row,)) for query, row in QUERIES.items()]
    return tool_source("tools", TOOLS).with_examples(examples)


def test_training_raises_ndcg_on_what_it_trains_on(tiny_model: Path, source: PairSource) -> None:
    encoder = load_encoder(tiny_model, precision="fp32")
    before = source_ndcg(encoder, source, SETTINGS)
    training = train(encoder, [source], SETTINGS)
    assert source_ndcg(encoder, source, SETTINGS) > max(before + 0.2, 0.9)
    assert np.mean(training.losses[-5:]) < np.mean(training.losses[:5])


def test_a_resumed_training_gives_the_weights_of_one_that_never_stopped(
    tiny_model: Path, source: PairSource, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, dropout=0.1)
    whole = train(load_encoder(tiny_model, precision="fp32"), [source], settings, held_out=[source])

    def stop(report: StepReport) -> None:
        if report.step == 17:
            raise KeyboardInterrupt

    interrupted = load_encoder(tiny_model, precision="fp32")
    with pytest.raises(KeyboardInterrupt):
        train(interrupted, [source], settings, held_out=[source], folder=tmp_path, progress=stop)
    resumed = train(
        load_encoder(tiny_model, precision="fp32"),
        [source],
        settings,
        held_out=[source],
        folder=tmp_path,
        resume=True,
    )
    assert resumed.losses == whole.losses
    assert resumed.ndcg == whole.ndcg
    assert resumed.best_step == whole.best_step
    for name, value in whole.state.items():
        assert torch.equal(resumed.state[name], value)


def test_a_checkpoint_of_other_settings_is_refused(
    tiny_model: Path, source: PairSource, tmp_path: Path
) -> None:
    train(load_encoder(tiny_model, precision="fp32"), [source], replace(SETTINGS, steps=2), folder=tmp_path)
    with pytest.raises(TuningError, match="other data, settings or weights"):
        train(load_encoder(tiny_model, precision="fp32"), [source], SETTINGS, folder=tmp_path, resume=True)


def test_the_weights_that_measured_best_are_kept(tiny_model: Path, source: PairSource) -> None:
    """A learning rate that ruins the encoder leaves it as it was."""
    encoder = load_encoder(tiny_model, precision="fp32")
    before = encoder.vectors(source.documents, 32)
    ruinous = replace(SETTINGS, learning_rate=5.0, steps=20, patience=2, temperature=1.0)
    training = train(encoder, [source], ruinous, held_out=[source])
    values = dict(training.ndcg)
    assert values[training.best_step] == max(values.values())
    if training.best_step == 0:
        assert np.array_equal(encoder.vectors(source.documents, 32), before)
    assert source_ndcg(encoder, source, ruinous) == max(values.values())


def test_no_more_steps_are_planned_than_fit_into_the_minutes(
    tiny_model: Path, source: PairSource, tmp_path: Path
) -> None:
    """And a resumed training keeps to what was planned."""
    settings = replace(SETTINGS, minutes=1e-9)
    training = train(load_encoder(tiny_model, precision="fp32"), [source], settings, folder=tmp_path)
    assert (training.steps, training.settings.steps) == (1, 1)
    again = train(
        load_encoder(tiny_model, precision="fp32"), [source], settings, folder=tmp_path, resume=True
    )
    assert again.losses == training.losses
    ample = train(
        load_encoder(tiny_model, precision="fp32"), [source], replace(SETTINGS, minutes=1000, steps=2)
    )
    assert ample.steps == 2


def test_a_teacher_is_followed(tiny_model: Path, source: PairSource) -> None:
    """Trained on a teacher alone, the scores of a text come nearer to those that it gives."""
    teacher = HashingEmbedder(64)
    queries = [example.query for example in source.examples]
    wanted = teacher.embed_queries(queries) @ teacher.embed_documents(source.documents).T

    def distance(encoder: TextEncoder) -> float:
        scores = encoder.vectors(queries, 64) @ encoder.vectors(source.documents, 64).T
        return -float(np.corrcoef(scores.ravel(), wanted.ravel())[0, 1])

    encoder = load_encoder(tiny_model, precision="fp32")
    before = distance(encoder)
    settings = replace(SETTINGS, distill=1.0, temperature=0.1, teacher_temperature=0.1)
    train(encoder, [source], settings, teacher=teacher)
    assert distance(encoder) < before - 0.1
    with pytest.raises(TuningError, match="no teacher"):
        train(load_encoder(tiny_model, precision="fp32"), [source], settings)


def test_the_learning_rate_rises_in_a_line_and_falls_along_a_cosine() -> None:
    settings = replace(SETTINGS, steps=10, warmup=0.2, learning_rate=1.0)
    rates = [learning_rate(step, settings) for step in range(10)]
    assert rates[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert rates[6] == pytest.approx(0.5)
    assert rates[9] == pytest.approx((1 + np.cos(np.pi * 7 / 8)) / 2)
