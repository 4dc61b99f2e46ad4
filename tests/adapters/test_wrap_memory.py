"""What a wrapped client remembers, and for whom."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.callers import FORMS, Caller, client, wrapped
from tests.adapters.serving import SEND, TOOLS, definitions, names_in, searches, served
from tests.fake_provider.answers import Answer
from tests.fake_provider.provider import FakeProvider, Step
from toolsearch import Catalog, Tool, ToolSearcher, build_index
from toolsearch.adapters import conversation
from toolsearch.exceptions import (
    EmbeddingError,
    LimitExceededError,
    ReservedNameError,
    ToolLimitError,
    UnknownToolError,
)
from toolsearch.session.memory import MemorySessionStore
from toolsearch.testing import FlakyEmbedder, HashingEmbedder

SEARCH = searches("send an email message")


@contextlib.contextmanager
def searching_client(
    *steps: Step, form: str = "openai_chat", then: Step | None = None, **options: Any
) -> Iterator[tuple[FakeProvider, Any]]:
    """A provider and a wrapped client of it."""
    with served(*steps, then=then) as (provider, url), wrapped(client(form, url), **options) as searching:
        yield provider, searching


def ask(searching: Any, text: str, *, tools: list[Any] | None = None, **more: Any) -> Any:
    """A call that begins a conversation."""
    given = definitions("openai_chat", TOOLS) if tools is None else tools
    arguments = {"tools": given, **more} if given else more
    messages = [{"role": "user", "content": text}]
    return searching.chat.completions.create(model="m", messages=messages, **arguments)


@pytest.mark.parametrize("form", FORMS)
def test_a_session_remembers_when_the_history_is_lost(form: str) -> None:
    """And in another process, where they share a store."""
    store = MemorySessionStore()
    with served(SEARCH, Answer("Found."), Answer("Again.")) as (provider, url):
        for text in ("Mail?", "What now?"):
            loop = Caller(form, wrapped(client(form, url), session_store=store), definitions(form, TOOLS))
            loop.options = {"toolsearch_session": "one"}
            loop.ask(text)
    assert names_in(provider.bodies[-1]) == ["tool_search", "mail__send_email"]
    assert all("toolsearch_session" not in body for body in provider.bodies)


def test_sessions_tenants_and_users_share_nothing() -> None:
    """The same first words lead to what was found for them only on the same one's behalf."""
    apart: list[dict[str, Any]] = [
        {"toolsearch_session": "one"},
        {"toolsearch_session": "two"},
        {"toolsearch_session": "one", "toolsearch_tenant": "acme"},
        {"user": "ann"},
        {"safety_identifier": "bob"},
        {"model": "other"},
    ]
    with searching_client(*[SEARCH, Answer("Found.")] * len(apart)) as (provider, searching):
        for options in apart:
            messages = [{"role": "user", "content": "Mail?"}]
            tools = definitions("openai_chat", TOOLS)
            searching.chat.completions.create(
                **{"model": "m", "messages": messages, "tools": tools, **options}
            )
    assert [names_in(body) for body in provider.bodies[::2]] == [["tool_search"]] * len(apart)


def test_another_conversation_and_another_list_of_tools_find_nothing() -> None:
    fewer = definitions("openai_chat", TOOLS[1:])
    steps = (SEARCH, Answer("Found."), Answer("No."), Answer("No."), Answer("Yes."))
    with searching_client(*steps) as (provider, searching):
        ask(searching, "Mail?")
        ask(searching, "Mail!")
        ask(searching, "Mail?", tools=fewer)
        ask(searching, "Mail?")
    sizes = [len(body["messages"]) for body in provider.bodies]
    assert sizes == [2, 4, 2, 2, 2]
    assert [names_in(body) for body in provider.bodies[2:4]] == [["tool_search"], ["tool_search"]]


def test_a_tool_that_the_history_calls_is_sent_whatever_was_forgotten() -> None:
    with served(SEARCH, Answer(calls=(SEND,)), Answer("Sent.")) as (provider, url):
        loop = Caller("openai_chat", wrapped(client("openai_chat", url)), definitions("openai_chat", TOOLS))
        loop.tool = lambda _: str(loop.history.pop(0))
        loop.ask("Mail hi to Ann.")
    assert names_in(provider.bodies[2]) == ["tool_search", "mail__send_email"]
    assert "s1" not in provider.raw[2].decode()


def test_a_session_can_be_set_around_calls() -> None:
    store = MemorySessionStore()
    with (
        searching_client(SEARCH, Answer("Found."), session_store=store) as (_, searching),
        conversation("one", tenant="acme"),
    ):
        ask(searching, "Mail?")
    assert store.discovered("one", "acme") == ("mail__send_email",)
    assert store.discovered("one", "") == ()


def test_a_response_is_continued_by_its_id() -> None:
    steps = (SEARCH, Answer("Found."), Answer("Again."))
    tools = definitions("openai_responses", TOOLS)
    with searching_client(*steps, form="openai_responses") as (provider, searching):
        first = searching.responses.create(model="m", input="Mail?", tools=tools)
        searching.responses.create(model="m", input="Go on.", tools=tools, previous_response_id=first.id)
        assert names_in(provider.bodies[-1]) == ["tool_search", "mail__send_email"]
        assert provider.bodies[-1]["input"] == [{"role": "user", "content": "Go on."}]


@pytest.mark.parametrize(("text", "shown"), [("", "resp_2"), ("Let me look.", "resp_1")])
def test_a_streamed_response_has_one_id_and_is_continued_where_it_ended(text: str, shown: str) -> None:
    """That is the id of the first event, as the helpers of the client insist on."""
    steps = (searches("send an email message", text=text), Answer("Found."), Answer("Again."), Answer("Bye."))
    tools = definitions("openai_responses", TOOLS)
    with searching_client(*steps, form="openai_responses") as (provider, searching):
        with searching.responses.stream(model="m", input="Mail?", tools=tools) as stream:
            final = stream.get_final_response()
        assert final.id == shown
        for told in ("Go on.", "Go on."):
            searching.responses.create(model="m", input=told, tools=tools, previous_response_id=final.id)
    assert [body.get("previous_response_id") for body in provider.bodies] == [None, None, "resp_2", "resp_2"]
    assert names_in(provider.bodies[-1]) == ["tool_search", "mail__send_email"]


def test_a_conversation_at_the_provider_is_sent_only_what_is_new() -> None:
    tools = definitions("openai_responses", TOOLS)
    with searching_client(SEARCH, lambda body: Answer(str(len(body["input"]))), form="openai_responses") as (
        provider,
        searching,
    ):
        answer = searching.responses.create(model="m", input="Mail?", tools=tools, conversation="conv_1")
    assert answer.output_text == "1"
    assert [item["type"] for item in provider.bodies[1]["input"]] == ["function_call_output"]


def test_a_list_is_indexed_once() -> None:
    embedder = HashingEmbedder()
    steps = (SEARCH, Answer("Found.")) * 3
    with served(*steps) as (_, url), wrapped(client("openai_chat", url), embedder=embedder) as searching:
        for text in ("One?", "Two?", "Three?"):
            ask(searching, text)
    assert len(embedder.embedded) == len(set(embedder.embedded)) == len(TOOLS)


def test_the_lists_that_are_kept_are_bounded() -> None:
    embedder = HashingEmbedder()
    lists = [definitions("openai_chat", TOOLS[i:]) for i in (0, 1, 0)]
    with searching_client(*[Answer("Hi.")] * 3, embedder=embedder, max_tool_lists=1) as (_, searching):
        for tools in lists:
            ask(searching, "Hi.", tools=tools)
    assert len(embedder.embedded) == sum(map(len, lists))


@pytest.mark.parametrize("given", ["both", "searcher"])
def test_a_catalog_with_its_index_needs_no_tools_in_requests(given: str) -> None:
    catalog = Catalog([Tool(raw_name="send_email", source="mail", description="Send an email message.")])
    embedder = HashingEmbedder()
    searcher = ToolSearcher(build_index(catalog, embedder), embedder)
    own = definitions("openai_chat", [("my_tool", "Mine.")])
    beside: dict[str, Any] = {"catalog": catalog.values()} if given == "both" else {}
    with searching_client(SEARCH, Answer(calls=(SEND,)), Answer("Hi."), searcher=searcher, **beside) as (
        provider,
        searching,
    ):
        answer = ask(searching, "Mail?", tools=[])
        ask(searching, "Hello.", tools=own)
    assert answer.choices[0].message.tool_calls[0].function.name == "mail__send_email"
    assert names_in(provider.bodies[1]) == ["tool_search", "mail__send_email"]
    assert names_in(provider.bodies[2]) == ["tool_search", "my_tool"]


def test_tools_of_the_provider_are_always_sent() -> None:
    tools = [{"type": "web_search"}, *definitions("openai_responses", TOOLS)]
    with searching_client(Answer("Hi."), form="openai_responses") as (provider, searching):
        searching.responses.create(model="m", input="Hi.", tools=tools)
    assert provider.bodies[0]["tools"][1] == {"type": "web_search"}
    assert len(provider.bodies[0]["tools"]) == 2


def test_names_are_sent_as_the_caller_gave_them() -> None:
    """Also those that would not be a tool's public name by our own rules."""
    odd = "a__b__c_0123456789"
    tools = definitions("openai_chat", [(odd, "Send an email message."), *TOOLS[3:]])
    with searching_client(SEARCH, Answer("Found.")) as (provider, searching):
        ask(searching, "Mail?", tools=tools)
    assert names_in(provider.bodies[1]) == ["tool_search", odd]
    assert f"- {odd}: Send an email message." in provider.bodies[1]["messages"][-1]["content"]


def test_a_tool_that_is_chosen_is_sent() -> None:
    choice = {"type": "function", "function": {"name": "get_weather"}}
    with searching_client(Answer("Hi.")) as (provider, searching):
        ask(searching, "Hi.", tool_choice=choice)
    assert names_in(provider.bodies[0]) == ["tool_search", "get_weather"]


def test_the_mark_of_a_cached_list_moves_to_its_end() -> None:
    tools = definitions("anthropic", TOOLS)
    tools[-1]["cache_control"] = {"type": "ephemeral"}
    with searching_client(SEARCH, Answer("Found."), form="anthropic") as (provider, searching):
        message = {"role": "user", "content": [{"type": "text", "text": "Mail?"}]}
        searching.messages.create(model="m", max_tokens=9, messages=[message], tools=tools)
    assert [["cache_control" in tool for tool in body["tools"]] for body in provider.bodies] == [
        [True],
        [False, True],
    ]


def test_a_model_that_only_searches_is_stopped() -> None:
    with (
        searching_client(then=SEARCH, max_rounds=3) as (provider, searching),
        pytest.raises(LimitExceededError, match="for 3 rounds") as caught,
    ):
        ask(searching, "Mail?")
    assert (caught.value.kind, caught.value.limit, len(provider.bodies)) == ("rounds", 3, 3)


def test_settings_that_do_not_fit_the_tools_are_refused() -> None:
    with searching_client(pinned=("nope",)) as (_, searching), pytest.raises(UnknownToolError, match="nope"):
        ask(searching, "Hi.")
    with (
        searching_client(pinned=("get_weather",), max_tools=1) as (_, searching),
        pytest.raises(ToolLimitError),
    ):
        ask(searching, "Hi.")


def test_requests_that_cannot_be_answered_are_refused_before_they_are_sent() -> None:
    reserved = definitions("openai_chat", [("tool_search", "Mine."), *TOOLS])
    failing = FlakyEmbedder(HashingEmbedder(), failures=[EmbeddingError("It is broken.")])
    with searching_client(embedder=failing) as (provider, searching):
        with pytest.raises(ValueError, match="n is 2"):
            ask(searching, "Hi.", n=2)
        with pytest.raises(ReservedNameError, match="tool_search"):
            ask(searching, "Hi.", tools=reserved)
        with pytest.raises(ValueError, match="must be texts, not"):
            ask(searching, "Hi.", toolsearch_session=7)
        with pytest.raises(EmbeddingError, match="It is broken"):
            ask(searching, "Hi.")
    assert provider.bodies == []


def test_only_clients_of_the_two_packages_are_wrapped() -> None:
    with pytest.raises(TypeError, match="not str"):
        wrapped("client")
    with served() as (_, url), client("openai_chat", url) as plain:
        with pytest.raises(ValueError, match="max_rounds is 0"):
            wrapped(plain, max_rounds=0)
        with pytest.raises(ValueError, match="catalog that the searcher searches"):
            wrapped(plain, searcher=object())


def test_a_wrapped_client_is_a_client() -> None:
    import openai

    with searching_client() as (_, searching):
        assert isinstance(searching, openai.OpenAI)
        assert isinstance(searching.chat.completions, type(openai.OpenAI(api_key="k").chat.completions))
        assert searching.api_key == "key"
        assert searching.models.list.__name__ == "list"
        searching.api_key = "other"
        assert searching.api_key == "other"
