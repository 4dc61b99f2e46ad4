"""Custom tools of OpenAI, which take text, are found, called and answered in their own form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.callers import MODES, Caller, client, wrapped
from tests.adapters.serving import (
    SEND,
    TOOLS,
    conversation,
    definitions,
    names_in,
    search_call,
    searches,
    served,
)
from tests.fake_provider.answers import Answer, Call
from toolsearch import Catalog, Tool, ToolSearcher, ToolSearchSession, build_index
from toolsearch.testing import HashingEmbedder

FORMS = ("openai_chat", "openai_responses")
RUN = Call("c7", "run_sql", "SELECT 'a\nb' FROM t; -- {\"no\": json", custom=True)
GRAMMAR = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/"}}


def custom(form: str, name: str = "run_sql", description: str = "Query the database.") -> dict[str, Any]:
    told = {"name": name, "description": description, "format": GRAMMAR}
    return {"type": "custom", "custom": told} if form == "openai_chat" else {"type": "custom", **told}


def caller(form: str, url: str, mode: str = "plain", **options: Any) -> Caller:
    searching = wrapped(client(form, url, is_async="async" in mode))
    tools = [*definitions(form, TOOLS), custom(form)]
    return Caller(form, searching, tools, mode, options=options)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_custom_tool_is_found_and_called_in_its_own_form(form: str, mode: str) -> None:
    steps = (
        searches("query the database"),
        Answer(calls=(search_call("send an email message", call_id="s2"), RUN)),
        Answer(calls=(SEND, Call("c8", RUN.name, "DROP", custom=True))),
        Answer("Done."),
    )
    with served(*steps) as (provider, url):
        loop = caller(form, url, mode)
        assert loop.ask("How many rows?") == ["Done."]
    assert loop.ran == [
        ("run_sql", {"input": RUN.arguments}),
        ("mail__send_email", {"text": "hi"}),
        ("run_sql", {"input": "DROP"}),
    ]
    assert provider.bodies[1]["tools"][1] == custom(form)
    assert list(map(names_in, provider.bodies)) == [
        ["tool_search"],
        ["tool_search", "run_sql"],
        *[["tool_search", "run_sql", "mail__send_email"]] * 2,
    ]
    for position in range(len(steps) - 1):
        before, after = conversation(provider, position), conversation(provider, position + 1)
        assert after[: len(before)] == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_call_of_a_hidden_custom_tool_is_sent_back_to_the_model(form: str, mode: str) -> None:
    """With its input as the model wrote it, and a result of its own kind, which providers insist on."""
    with served(Answer(calls=(RUN,)), Answer("I see.")) as (provider, url):
        loop = caller(form, url, mode)
        assert loop.ask("How many rows?") == ["I see."]
    assert loop.ran == []
    *_, call, result = conversation(provider, 1)
    if form == "openai_chat":
        assert call["tool_calls"] == [
            {"id": "c7", "type": "custom", "custom": {"name": "run_sql", "input": RUN.arguments}}
        ]
        assert result["content"].startswith("There is no tool 'run_sql'.")
    else:
        assert (call["type"], call["input"]) == ("custom_tool_call", RUN.arguments)
        assert result["type"] == "custom_tool_call_output"
        assert result["output"].startswith("There is no tool 'run_sql'.")


@pytest.mark.parametrize("form", FORMS)
def test_a_custom_tool_of_the_history_is_sent_again(form: str) -> None:
    """Also where nobody remembers the search."""
    with served(searches("query the database"), Answer(calls=(RUN,)), Answer("Done.")) as (_, url):
        loop = caller(form, url)
        loop.ask("How many rows?")
    with served(Answer("Yes.")) as (provider, url):
        later = caller(form, url)
        later.history = loop.history
        later.ask("Sure?")
    assert names_in(provider.bodies[0]) == ["tool_search", "run_sql"]


@pytest.mark.parametrize("form", FORMS)
def test_a_custom_tool_that_is_chosen_is_sent(form: str) -> None:
    name = {"custom": {"name": "run_sql"}} if form == "openai_chat" else {"name": "run_sql"}
    one = {"type": "custom", **name}
    several = {"mode": "auto", "tools": [one]}
    allowed = {"allowed_tools": several} if form == "openai_chat" else several
    for choice in (one, {"type": "allowed_tools", **allowed}):
        with served(Answer("Hi.")) as (provider, url):
            caller(form, url, tool_choice=choice).ask("Hello.")
        assert names_in(provider.bodies[0]) == ["tool_search", "run_sql"]
        assert provider.bodies[0]["tool_choice"] == choice


def test_custom_tools_are_left_to_a_loop_written_by_hand() -> None:
    catalog = Catalog([Tool(raw_name="send_email", description="Send an email message.")])
    embedder = HashingEmbedder()
    searcher = ToolSearcher(build_index(catalog, embedder), embedder)
    call = {"id": "c", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1"}}
    item = {"type": "custom_tool_call", "call_id": "c", "name": "run_sql", "input": "SELECT 1"}
    for form, asked in (("openai_chat", call), ("openai_responses", item)):
        session = ToolSearchSession(searcher, form=form)  # type: ignore[arg-type]
        session.tools()
        assert session.handle(asked) is None
