"""Where training examples come from, and what is never a negative."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tuning.tiny import TOOLS
from toolsearch.catalog import Catalog
from toolsearch.document import render_document
from toolsearch.evaluation.datasets import BenchQuery, make_dataset
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import Tool
from toolsearch.tuning.batches import plan_batches
from toolsearch.tuning.catalog_pairs import catalog_source, first_sentence, held_out_tools, imperative
from toolsearch.tuning.duplicates import duplicate_keys
from toolsearch.tuning.negatives import mine_negatives
from toolsearch.tuning.pairs import Example, PairSource, dataset_source, mix, tool_source
from toolsearch.tuning.settings import TuneSettings
from toolsearch.tuning.split import split_queries
from toolsearch.tuning.usage import known_only, read_usage


@pytest.mark.parametrize(
    ("sentence", "order"),
    [
        ("Gets the weather.", "get the weather"),
        ("This tool retrieves the current weather.", "retrieve the current weather"),
        ("Allows you to send an email", "send an email"),
        ("Used to track a parcel.", "track a parcel"),
        ("Searches flights", "search flights"),
        ("Copies a file.", "copy a file"),
        ("Open an issue.", "Open an issue"),
        ("Access to the news.", "Access to the news"),
        ("", ""),
    ],
)
def test_statements_become_orders(sentence: str, order: str) -> None:
    assert imperative(sentence) == order


def test_a_description_is_cut_after_its_first_sentence() -> None:
    text = "Sends v1.2 mail, e.g. a letter. It may have files."
    assert first_sentence(text) == ("Sends v1.2 mail, e.g. a letter.", "It may have files.")
    assert first_sentence("One line\n\nAnother") == ("One line", "Another")
    assert first_sentence("no end") == ("no end", "")


def test_documents_are_the_texts_that_are_indexed() -> None:
    source = tool_source("tools", TOOLS)
    assert source.documents == tuple(map(render_document, TOOLS))


def test_a_catalog_asks_for_parts_of_a_tool_by_its_other_parts() -> None:
    tool = Tool(
        raw_name="get_forecast",
        source="sky",
        description="Gets the weather of a city. Up to ten days.",
        input_schema={
            "type": "object",
            "properties": {
                "units": {"type": "string", "enum": ["metric", "imperial"]},
                "city": {"type": "string", "description": "Name of the city to look at."},
            },
        },
    )
    source = catalog_source("sky", [tool])
    about = "Up to ten days. Parameters: units [metric, imperial]; city: Name of the city to look at."
    rest = f"sky get forecast: {about}"
    nameless = f"Gets the weather of a city. {about}"
    assert {(e.query, e.text) for e in source.examples} == {
        ("Gets the weather of a city.", rest),
        ("get the weather of a city", rest),
        ("get forecast", nameless),
        ("get forecast units metric", "Gets the weather of a city. Up to ten days."),
        ("get forecast units imperial", "Gets the weather of a city. Up to ten days."),
        ("get forecast: Name of the city to look at.", "Gets the weather of a city. Up to ten days."),
    }


def test_no_document_of_a_catalog_repeats_what_it_is_asked_by() -> None:
    for example in catalog_source("tools", TOOLS).examples:
        assert example.query not in example.text


def test_held_out_tools_are_asked_by_a_sentence_that_no_document_has() -> None:
    tools = [
        replace(tool, description=f"{tool.description} More of number {i}.") for i, tool in enumerate(TOOLS)
    ]
    rows, source = held_out_tools("held", tools, share=0.5, seed=0)
    assert len(rows) == len(source) == 4
    assert {example.positives[0] for example in source.examples} == rows
    for example in source.examples:
        assert example.query not in " ".join(source.documents)


def test_near_duplicates_have_one_key() -> None:
    tools = [
        Tool(raw_name="get_weather", source="a", description="Get the weather of a city now."),
        Tool(raw_name="get_weather", source="b", description="Get the weather of a city now."),
        Tool(raw_name="get_weather", source="c", description="Get the weather of any city now."),
        Tool(
            raw_name="get_weather", source="d", description="Forecast of rain, by hour, from radar pictures."
        ),
        Tool(raw_name="send", source="e", description="Send a letter."),
        Tool(raw_name="post", source="f", description="Mail something."),
    ]
    keys = duplicate_keys(tools, groups=[[4, 5]])
    assert keys[0] == keys[1] == keys[2]
    assert keys[4] == keys[5]
    assert len(set(keys)) == 3


def test_queries_know_their_tools_and_what_serves_as_well() -> None:
    queries = [
        BenchQuery("q1", "any rain?", ("sky.get_rain",), {"sky.get_rain": ("sky.get_forecast",)}),
        BenchQuery("q2", "nothing", ()),
    ]
    catalog = Catalog(TOOLS)
    source = dataset_source(make_dataset("set", catalog, queries))
    row = {tool.raw_name: i for i, tool in enumerate(catalog.values())}
    assert source.examples == (Example("any rain?", (row["get_rain"],), ((row["get_forecast"],),)),)


def test_mined_negatives_are_lexical_near_misses_and_tools_of_the_same_server() -> None:
    source = tool_source("tools", TOOLS).with_examples([Example("send a parcel", (2,), ((3,),))])
    (example,) = mine_negatives(source, lexical=2, same_server=1).examples
    assert not set(example.hard) & {2, 3}
    source = source.with_examples([Example("refund money of an order", (6,))])
    (example,) = mine_negatives(source, lexical=1, same_server=1).examples
    assert example.hard[0] == 5
    assert len(set(example.hard)) == len(example.hard)


def test_relevant_tools_and_near_duplicates_are_never_negatives() -> None:
    """In every batch: a document that serves a query is its own, or left out."""
    tools = (*TOOLS, replace(TOOLS[0], source="copy"))
    examples = [Example(f"query {i}", (i, (i + 1) % 8)) for i in range(8)]
    examples.append(Example("query 3", (6,)))
    source = mine_negatives(tool_source("tools", tools).with_examples(examples))
    text_keys = dict(zip(source.documents, source.keys, strict=True))
    serves: dict[str, set[str]] = {}
    for example in source.examples:
        serves.setdefault(example.query, set()).update(source.keys[row] for row in example.relevant)
    batches = plan_batches([source], TuneSettings(batch_pairs=9, batch_sources=3, hard_negatives=2))
    for _, batch in zip(range(20), batches, strict=False):
        for i, query in enumerate(batch.queries):
            for j, document in enumerate(batch.documents):
                alike = text_keys[document] in serves[query]
                assert alike or i != j
                assert batch.counts[i, j] == (i == j or not alike)


def test_batches_depend_on_the_seed_alone() -> None:
    source = catalog_source("tools", TOOLS)
    settings = TuneSettings(batch_pairs=8, batch_sources=2)

    def first(settings: TuneSettings) -> list[tuple[str, ...]]:
        return [batch.queries for _, batch in zip(range(5), plan_batches([source], settings), strict=False)]

    assert first(settings) == first(settings)
    assert first(settings) != first(replace(settings, seed=1))


def test_sources_are_drawn_by_weight_and_root_of_size() -> None:
    few = tool_source("few", TOOLS).with_examples([Example(f"few {i}", (0,)) for i in range(4)])
    many = tool_source("many", TOOLS).with_examples([Example(f"many {i}", (1,)) for i in range(16)])
    settings = TuneSettings(batch_pairs=1, batch_sources=1, hard_negatives=0)

    def share(sources: list[PairSource]) -> float:
        batches = zip(range(3000), plan_batches(sources, settings), strict=False)
        return float(np.mean([batch.queries[0].startswith("few") for _, batch in batches]))

    assert share([few, many]) == pytest.approx(1 / 3, abs=0.03)
    assert share(mix(([few], 0.75), ([many], 0.25))) == pytest.approx(0.75, abs=0.03)


def test_every_example_comes_before_any_comes_again() -> None:
    source = tool_source("tools", TOOLS).with_examples([Example(f"q{i}", (i % 7,)) for i in range(12)])
    batches = plan_batches([source], TuneSettings(batch_pairs=4, batch_sources=1, hard_negatives=0))
    seen = [query for _, batch in zip(range(3), batches, strict=False) for query in batch.queries]
    assert len(set(seen)) == 12


def test_of_each_kind_of_query_the_same_share_is_held_out() -> None:
    queries = [BenchQuery(f"a{i}", f"a {i}", ("bank.pay_invoice",), kind="a") for i in range(40)]
    queries += [BenchQuery(f"b{i}", f"b {i}", ("bank.pay_invoice",), kind="b") for i in range(10)]
    queries += [BenchQuery("none", "none", ())]
    dataset = make_dataset("set", Catalog(TOOLS), queries)
    train, held = split_queries(dataset, share=0.3, seed=0)
    assert {query.id for query in train.queries}.isdisjoint(query.id for query in held.queries)
    assert len(train.queries) + len(held.queries) == 51
    kinds = [query.kind for query in held.queries]
    assert (kinds.count("a"), kinds.count("b"), kinds.count("")) == (12, 3, 1)
    assert split_queries(dataset, share=0.3, seed=0) == (train, held)
    assert split_queries(dataset, share=0.3, seed=1) != (train, held)


def test_a_usage_log_gives_one_query_a_request(tmp_path: Path) -> None:
    lines = [
        {"query": "pay it", "tools": ["pay"], "when": "today"},
        {"query": "pay it ", "tools": ["refund"]},
        {"query": "hello", "tools": []},
        {"query": "mail", "tools": ["gone", "send"]},
    ]
    log = tmp_path / "usage.jsonl"
    log.write_text("\n".join(map(json.dumps, lines)))
    read = read_usage(log)
    assert [(query.text, query.gold) for query in read] == [
        ("pay it", ("pay", "refund")),
        ("mail", ("gone", "send")),
    ]
    assert [query.gold for query in known_only(read, ["send"])] == [("send",)]
    log.write_text('{"query": "pay it"}\n')
    with pytest.raises(EvaluationError, match=r"usage\.jsonl:1"):
        read_usage(log)


def test_settings_out_of_range_are_refused() -> None:
    wrongs: list[dict[str, Any]] = [{"steps": 0}, {"rank": -1}, {"distill": 2.0}, {"temperature": 0.0}]
    for wrong in [*wrongs, {"batch_sources": 61}, {"minutes": 0.0}]:
        with pytest.raises(ValueError, match=r"not|make"):
            replace(TuneSettings(), **wrong)
    settings = TuneSettings(dims=(128,), layers=None)
    assert TuneSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
