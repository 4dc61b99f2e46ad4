from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import httpx
import pytest

from benchmarks.loop import LOOP, main
from benchmarks.loop_arms import ARMS, Bench, Outcome, run_task
from benchmarks.loop_break_even import break_even, crossing
from benchmarks.loop_prompt import Piece, cached_tokens, prompt_of
from benchmarks.loop_selector import Selector
from benchmarks.loop_summary import arms_summary
from benchmarks.loop_tasks import Task, joined_tasks, tasks_of, with_words_lost
from benchmarks.plots_loop import draw_loop
from benchmarks.report_loop import loop_section
from toolsearch.catalog import Catalog
from toolsearch.chat import OpenAIChatModel
from toolsearch.chat.base import ChatModel, ChatRequest, NativeSearch, Usage
from toolsearch.demo import demo_folder
from toolsearch.evaluation.datasets import BenchQuery, load_dataset_folder, make_dataset
from toolsearch.messages import ToolMessage, UserMessage
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing import HashingEmbedder
from toolsearch.tokens import count_tokens, definition_tokens
from toolsearch.tools import Tool

CATALOG = Catalog(
    Tool(raw_name=name, description=description)
    for name, description in {
        "refund_order": "Refund an order in full.",
        "send_email": "Send an email to somebody.",
        "book_room": "Book a meeting room.",
        "list_invoices": "List the invoices of a customer.",
        "get_weather": "The weather in a city.",
        "play_music": "Play a piece of music.",
        "translate_text": "Translate a text.",
        "resize_image": "Resize an image.",
    }.items()
)
TASK = Task(
    "t",
    "Refund order 7, book a room and then send an email to Ann",
    (("refund_order",), ("book_room",), ("send_email",)),
    ("refund an order", "book a meeting room", "send an email"),
)
OTHER = Task("o", "How is the weather in Rome?", (("get_weather",),), ("weather in a city",))


@pytest.fixture(scope="module")
def bench() -> Bench:
    embedder = HashingEmbedder()
    return Bench.of(CATALOG, ToolSearcher(build_index(CATALOG, embedder), embedder))


def run(bench: Bench, arm: str, task: Task = TASK, *, words: str = "rephrased", searches: int = 3) -> Outcome:
    model_for = partial(Selector, words=words, max_searches=searches)
    return asyncio.run(run_task(bench, arm, task, model_for, after=OTHER))


@pytest.mark.parametrize("arm", ARMS)
def test_the_selector_calls_each_relevant_tool_in_every_arm(bench: Bench, arm: str) -> None:
    outcome = run(bench, arm)
    assert outcome.met == (True, True, True)
    assert outcome.wrong_calls == 0
    assert outcome.searches == (0 if arm in {"oracle", "send-all", "preselect"} else 1)
    assert outcome.rounds == outcome.searches + 2


def test_sending_all_costs_every_definition_in_every_round(bench: Bench) -> None:
    outcome = run(bench, "send-all")
    assert outcome.rounds == 2
    assert outcome.tokens["definitions"] == 2 * sum(
        definition_tokens(tool.definition) for tool in CATALOG.values()
    )
    assert outcome.tokens["search"] == 0


def test_a_tool_that_is_not_shown_is_not_selected(bench: Bench) -> None:
    outcome = run(
        bench, "append", Task("t", "xyzzy", (("resize_image",),), ("play a piece of music",)), searches=1
    )
    assert outcome.met == (False,)
    assert not outcome.is_resolved
    assert outcome.searches == 1


def test_a_request_that_nothing_serves_is_searched_for(bench: Bench) -> None:
    outcome = run(bench, "append", Task("t", "play a piece of music", (), ("play a piece of music",)))
    assert outcome.searches >= 1
    assert outcome.wrong_calls == 0


def test_clauses_are_cut_from_the_text_alone() -> None:
    assert TASK.clauses == ("Refund order 7", "book a room", "send an email to Ann")
    assert Task("t", "One thing, and another.", (("a",),)).clauses == ("One thing, and another.",)
    lines = Task("t", "a, b\nc and d", (("a",), ("b",)))
    assert lines.clauses == ("a, b", "c and d")
    many = Task("t", "one, two, three, four, five, six words here", (("a",), ("b",)))
    assert len(many.clauses) == 5
    assert ", ".join(many.clauses) == many.text


def test_joined_requests_use_each_query_once_and_need_different_tools() -> None:
    demo = load_dataset_folder(demo_folder(), name="demo")
    tasks = joined_tasks(demo, seed=0)
    used = [part for task in tasks for part in task.id.split("+")]
    assert len(used) == len(set(used))
    assert all(len({name for need in task.needs for name in need}) >= 3 for task in tasks)
    assert [task.id for task in joined_tasks(demo, seed=0)] == [task.id for task in tasks]
    assert all(len(task.rephrased) == 3 and len(task.clauses) == 3 for task in tasks)


def test_every_request_of_the_demo_set_has_rephrased_queries() -> None:
    tasks = tasks_of(load_dataset_folder(demo_folder(), name="demo"))
    assert [task.id for task in tasks if not 1 <= len(task.rephrased) <= 5] == []


def test_alternatives_meet_a_need_and_ambiguous_requests_have_one_need() -> None:
    queries = [
        BenchQuery("q1", "q", ("refund_order", "send_email"), {"send_email": ("play_music", "gone")}),
        BenchQuery("q2", "q", ("book_room", "get_weather"), kind="ambiguous"),
    ]
    first, second = tasks_of(make_dataset("d", CATALOG, queries))
    assert first.needs == (("refund_order",), ("send_email", "play_music"))
    assert second.needs == (("book_room", "get_weather"),)


def test_words_are_lost_from_queries_but_never_all() -> None:
    (once,) = with_words_lost([TASK], 1, seed=0)
    assert [len(query.split()) for query in once.rephrased] == [2, 3, 2]
    (often,) = with_words_lost([TASK], 9, seed=0)
    assert [len(query.split()) for query in often.rephrased] == [2, 2, 2]


def test_the_cache_holds_the_longest_shared_beginning_from_1024_tokens_on() -> None:
    long, short = Piece("definitions", "word " * 1100), Piece("conversation", "hello")
    other = Piece("conversation", "bye")
    assert cached_tokens([long, short], [[short], [long, other]]) == count_tokens(long.text)
    assert cached_tokens([long, short], [[other, long]]) == 0
    assert cached_tokens([short, other], [[short, other]]) == 0


def test_a_deferred_definition_is_read_where_a_result_first_refers_to_it() -> None:
    search, found, hidden = (Tool(raw_name=name) for name in ("tool_search", "found", "hidden"))
    result = ToolMessage(call_id="1", name="tool_search", discovered=("found",))
    request = ChatRequest(
        (UserMessage.of("hello"), result, result.model_copy(update={"call_id": "2"})),
        tools=(search, found),
        native=NativeSearch("tool_search", (found, hidden)),
    )
    pieces = prompt_of(request)
    assert [piece.kind for piece in pieces] == [
        "definitions",
        "conversation",
        "search",
        "definitions",
        "search",
    ]
    assert '"found"' in pieces[3].text


def outcome_of(tokens: int, *, met: bool, cached: int = 0) -> Outcome:
    read = {"definitions": tokens, "search": 0, "conversation": 0, "output": 0}
    return Outcome((met,), 0, 2, 0, read, cached=0, cached_warm=cached, usage=Usage())


def test_tokens_of_unresolved_requests_are_borne_by_the_resolved_ones() -> None:
    summary = arms_summary(
        {
            "send-all": [outcome_of(1000, met=True, cached=500), outcome_of(1000, met=True, cached=500)],
            "append": [outcome_of(100, met=True), outcome_of(100, met=False)],
            "bridge": [outcome_of(100, met=False)],
        }
    )
    append = summary["append"]
    assert (append["selection"], append["resolved"]) == (0.5, 0.5)
    assert (append["per_task"]["tokens"], append["per_resolved"]["tokens"]) == (100, 200)
    assert append["saved"] == append["saved_cold"] == 0.8
    assert summary["send-all"]["per_task"]["cost_warm"] == 1000 - 0.9 * 500
    assert append["saved_warm"] == round(1 - 200 / 550, 4)
    assert summary["bridge"]["saved"] is None


@pytest.mark.parametrize(
    ("whole", "search", "expected"),
    [
        ([100, 200], [150, 150], 15),
        ([100, 200], [50, 60], 10),
        ([100, 200], [300, 300], None),
        ([300, 100, 400], [200, 200, 200], 23),
    ],
)
def test_the_break_even_is_where_searching_stays_cheaper(
    whole: list[float], search: list[float], expected: int | None
) -> None:
    assert crossing([10, 20, 30][: len(whole)], whole, search) == expected


def test_searching_costs_the_more_the_smaller_the_catalog() -> None:
    found = asyncio.run(break_even(CATALOG, [TASK], HashingEmbedder(), seed=0, sizes=(4, 8, 99), n_tasks=1))
    assert found["sizes"] == [4, 8]
    assert found["tokens"]["send-all"][0] < found["tokens"]["send-all"][1]
    assert found["break_even"]["tokens"]["append"] is None


def test_a_real_model_is_measured_by_the_same_yardstick(bench: Bench) -> None:
    """Over HTTP, with what it calls and what it reports."""

    def answer(request: httpx.Request) -> httpx.Response:
        messages = json.loads(request.content)["messages"]
        names = (
            [("refund_order", "{}"), ("play_music", "{}"), ("book_room", "{no")] if len(messages) == 1 else []
        )
        calls = [
            {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in names
        ]
        message = {"role": "assistant", "content": None if calls else "Done.", "tool_calls": calls or None}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 2}
        return httpx.Response(200, json={"model": "m", "choices": [choice], "usage": usage})

    model: ChatModel = OpenAIChatModel(
        "m", base_url="http://model.test/v1", transport=httpx.MockTransport(answer)
    )
    outcome = asyncio.run(run_task(bench, "send-all", TASK, lambda _: model, after=OTHER))
    assert outcome.met == (True, False, False)
    assert outcome.wrong_calls == 2, "another tool, and a call whose arguments are no JSON"
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (20, 4)


def test_an_unknown_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", "nobody:gpt"]) == 2
    assert "Unknown model 'nobody:gpt'" in capsys.readouterr().err


def test_the_committed_result_is_of_this_catalog_and_is_reported(tmp_path: Path) -> None:
    result = json.loads(LOOP.read_text(encoding="utf-8"))
    demo = load_dataset_folder(demo_folder(), name="demo")
    assert result["catalog"]["fingerprint"] == demo.catalog.fingerprint
    text = "\n".join(loop_section(result))
    saved = result["groups"]["three tools"]["rephrased"]["append"]["saved"]
    assert f"{saved:.1%}" in text
    assert all(path.stat().st_size > 10_000 for path in draw_loop(result, tmp_path))
