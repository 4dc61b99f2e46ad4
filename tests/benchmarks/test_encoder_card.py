"""The card beside the encoder says what is on record of it."""

from __future__ import annotations

from benchmarks.encoder_card import CARD_PATH, COMMANDS, UNSEEN, read_record, render_card
from benchmarks.left_out import FOLDS
from benchmarks.results import QUALITY, read_results
from benchmarks.train_encoder import NEVER, QUERIED, TOLD
from toolsearch.embedders.bundled import BundledEmbedder


def test_the_card_is_what_the_record_and_the_results_say() -> None:
    assert CARD_PATH.read_text(encoding="utf-8") == render_card(read_record(), read_results(QUALITY))


def test_the_record_is_that_of_the_encoder_that_ships() -> None:
    record = read_record()
    assert record["embedder_id"] == BundledEmbedder().id
    assert record["int8"]["min_cosine"] > 0.99
    assert len(record["runs"]) == 1 + len(FOLDS)


def test_nothing_was_trained_on_that_is_said_to_be_unseen() -> None:
    for run in read_record()["runs"]:
        names = {source.rpartition("/")[2] for source in run["sources"]}
        assert names <= {*QUERIED, *TOLD}
        assert not names & {name.rpartition("/")[2] for name in (*UNSEEN, *NEVER)}
    left_out = [
        set(QUERIED) - {s.rpartition("/")[2] for s in run["sources"]} for run in read_record()["runs"]
    ]
    assert left_out == [set(), *map(set, FOLDS)]


def test_the_card_names_its_commands_data_and_limits() -> None:
    card = CARD_PATH.read_text(encoding="utf-8")
    assert all(command in card for command in COMMANDS)
    assert all(name in card for name in (*QUERIED, *TOLD))
    assert "## Where it is weak" in card
    assert "Apache License 2.0" in card
