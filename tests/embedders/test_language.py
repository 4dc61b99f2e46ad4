"""Requests in another language are told from English ones, without false alarms."""

import json
from pathlib import Path

import pytest

from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.embedders.language import is_not_english

QUERIES = sorted((Path(__file__).parents[2] / "indexes" / "demo" / "queries").glob("*.jsonl"))
DEMO = [json.loads(line) for path in QUERIES for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        "Wie buche ich einen Flug nach Rom?",
        "Geld an den Kunden zurückzahlen",
        "rembourser le client",
        "Quels sont les tickets qui attendent une réponse ?",
        "¿Cuándo es la próxima reunión con el equipo?",
        "Dove posso trovare il mio calendario?",
        "Qual a temperatura atual em Divinópolis e como está o céu?",
        "Zet een afspraak met Jan in mijn agenda",
    ],
)
def test_another_language_is_told(text: str) -> None:
    assert is_not_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "send email",
        "What does 'der die das' mean in German?",
        "Find flights from La Paz to El Paso",
        "café near me",
        "Beyoncé songs",
        "Translate 'je ne sais pas' to English for me please",
        "SELECT * FROM de_users WHERE en = 1",
    ],
)
def test_english_is_not_taken_for_another_language(text: str) -> None:
    assert not is_not_english(text)


def test_the_demo_requests_are_told_apart() -> None:
    told = {query["id"] for query in DEMO if is_not_english(query["query"])}
    latin = {query["id"] for query in DEMO if query["language"] in {"de", "fr", "es"}}
    assert told >= latin
    assert not told & {query["id"] for query in DEMO if query["language"] == "en"}
    assert len(latin) > 25


def test_the_bundled_embedder_says_that_it_reads_less_of_it() -> None:
    embedder = BundledEmbedder()
    assert embedder.reads("Book a flight to Rome") == 1.0
    assert embedder.reads("Wie buche ich einen Flug nach Rom?") == 0.5
    assert embedder.reads("予約を確認") == 0.0
