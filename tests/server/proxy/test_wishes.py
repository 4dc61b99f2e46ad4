"""What callers may ask for: keys, catalogs, pins, sessions, models, and tools that go out as they came."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS, MODES, Caller
from tests.adapters.serving import SEND, definitions, names_in, search_call, searches
from tests.fake_provider.answers import Answer, Call
from tests.server.proxy.support import Proxied, message, proxied
from toolsearch.api.scopes import KeyScope
from toolsearch.testing import HashingEmbedder

TOOLS = (
    ("mail__send_email", "Send an email message."),
    ("mail__search_mail", "Find emails by text."),
    ("get_weather", "Current weather of a city."),
    ("web__search", "Search the web."),
)
IN_CATALOG = {"X-ToolSearch-Catalog": "default"}


def caller(through: Proxied, form: str, mode: str = "plain", *, tools: Any = TOOLS, **options: Any) -> Caller:
    return Caller(form, through.client(form, mode, **options), definitions(form, tools), mode)


def choice(form: str, name: str) -> Any:
    named: Any = {
        "openai_chat": {"type": "function", "function": {"name": name}},
        "openai_responses": {"type": "function", "name": name},
    }
    return named.get(form, {"type": "tool", "name": name})


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_that_must_be_called_is_sent(form: str) -> None:
    with proxied(Answer(calls=(SEND,)), Answer("Sent.")) as through:
        loop = caller(through, form)
        loop.options = {"tool_choice": choice(form, "mail__send_email")}
        assert loop.ask("Mail hi to Ann.") == ["Sent."]
    assert names_in(through.provider.bodies[0]) == ["tool_search", "mail__send_email"]


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_that_the_history_calls_is_sent_by_whichever_process(form: str) -> None:
    with proxied(searches("send an email message"), Answer(calls=(SEND,)), Answer("Sent.")) as through:
        loop = caller(through, form)
        loop.ask("Mail hi to Ann.")
    with proxied(Answer("Bye.")) as elsewhere:
        loop.client = elsewhere.client(form)
        assert loop.ask("Thanks.") == ["Bye."]
    assert names_in(elsewhere.provider.bodies[0]) == ["tool_search", "mail__send_email"]


@pytest.mark.parametrize("form", FORMS)
def test_a_session_keeps_what_was_found_beyond_the_history(form: str) -> None:
    headers = {"X-ToolSearch-Session": "ticket-7"}
    with proxied(searches("send an email message"), Answer("Hm."), Answer("Again.")) as through:
        caller(through, form, default_headers=headers).ask("Mail hi to Ann.")
        caller(through, form, default_headers=headers).ask("Something else.")
        assert "mail__send_email" not in through.service.http.get("/v1/sessions/ticket-7").text
    assert names_in(through.provider.bodies[2]) == ["tool_search", "mail__send_email"]
    assert "x-toolsearch-session" not in through.provider.headers[0]


@pytest.mark.parametrize("form", FORMS)
def test_pinned_tools_are_always_sent(form: str) -> None:
    pins = {"X-ToolSearch-Pin": "get_weather, no_such_tool"}
    with proxied(Answer("Hi."), proxy_pin=("web__*",)) as through:
        caller(through, form, default_headers=pins).ask("Hi.")
    assert names_in(through.provider.bodies[0]) == ["tool_search", "web__search", "get_weather"]


@pytest.mark.parametrize("form", FORMS)
def test_few_tools_are_sent_whole_and_many_are_searched(form: str) -> None:
    many = [(f"tool_{n}", f"Does thing number {n}. " * 20) for n in range(60)]
    with proxied(Answer("Hi."), Answer("Hi."), proxy_whole_below_tokens=4000) as through:
        caller(through, form).ask("Hi.")
        caller(through, form, tools=many).ask("Hi.")
    assert list(map(names_in, through.provider.bodies)) == [[name for name, _ in TOOLS], ["tool_search"]]
    sent = json.dumps(through.provider.bodies[0]["tools"])
    assert json.loads(sent) == definitions(form, TOOLS)


@pytest.mark.parametrize("form", FORMS)
def test_what_has_no_effect_is_reported(form: str) -> None:
    """Where nothing is searched. A header that asks for nothing is not reported, and no setting is."""
    tools = {"tools": definitions(form, TOOLS)}
    searching = {"tools": [*tools["tools"], {"type": "tool_search_x", "name": "native"}]}
    pin = {"X-ToolSearch-Pin": "get_weather", "X-ToolSearch-Session": "s", "X-ToolSearch-Catalog": "none"}
    with proxied(then=Answer("Hi."), proxy_whole_below_tokens=4000, proxy_pin=("web__*",)) as through:

        def skipped(more: Any, headers: dict[str, str]) -> Any:
            body = {**message(form, "Hi"), **more}
            told = through.post(form, body, headers)
            assert told.status_code == 200
            return told.headers.get("x-toolsearch-skipped")

        why = "its tools cost less than 4000 tokens, so all of them are sent."
        assert skipped(tools, pin) == f"X-ToolSearch-Session, X-ToolSearch-Pin had no effect: {why}"
        assert "has no tools" in str(skipped({}, pin))
        if form != "openai_chat":
            assert "has no tools" in str(skipped({"tools": []}, pin))
            assert "the provider's own search" in str(skipped(searching, pin))
        asks_nothing = {
            "X-ToolSearch-Pin": ",",
            "X-ToolSearch-Call": "false",
            "X-ToolSearch-Catalog": "none",
        }
        for more in (tools, {}):
            assert skipped(more, {}) is None
            assert skipped(more, asks_nothing) is None
        assert skipped(tools, IN_CATALOG) is None
        idle = "X-ToolSearch-Call had no effect: the service has no tools to run."
        assert skipped({}, {**IN_CATALOG, "X-ToolSearch-Call": "true"}) == idle
    with proxied(then=Answer("Hi.")) as through:
        idle = "X-ToolSearch-Call had no effect: the catalog is not searched."
        assert skipped(tools, {"X-ToolSearch-Call": "true"}) == idle
        assert skipped(tools, pin) is None


@pytest.mark.parametrize("form", FORMS)
def test_a_caller_with_a_tool_search_of_its_own_is_left_alone(form: str) -> None:
    tools = [("tool_search", "Find tools."), *TOOLS]
    own = search_call("anything", call_id="c9")
    with proxied(Answer(calls=(own,)), Answer("Done."), Answer("Hi.")) as through:
        loop = caller(through, form, tools=tools)
        assert loop.ask("Hi.") == ["Done."]
        answer = through.post(form, {**message(form, "Hi"), "tools": definitions(form, tools)})
        assert "'tool_search'" in answer.headers["x-toolsearch-skipped"]
    assert [name for name, _ in loop.ran] == ["tool_search"]
    assert names_in(through.provider.bodies[0]) == [name for name, _ in tools]


def test_several_answers_at_once_are_asked_for_with_all_tools() -> None:
    with proxied(Answer("Hi.")) as through:
        body = {**message("openai_chat", "Hi"), "tools": definitions("openai_chat", TOOLS), "n": 2}
        answer = through.post("openai_chat", body)
    assert answer.json()["choices"][0]["message"]["content"] == "Hi."
    assert answer.headers["x-toolsearch-skipped"].endswith("n is 2; only one answer can be had.")
    assert through.provider.bodies == [body]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_without_tools_the_catalog_of_the_service_is_searched(form: str, mode: str) -> None:
    call = Call("c1", "mail__send_email", '{"to": "ann@example.org"}')
    steps = (searches("send an email message"), Answer(calls=(call,)), Answer("Sent."))
    with proxied(*steps) as through:
        loop = caller(through, form, mode, tools=(), default_headers=IN_CATALOG)
        assert loop.ask("Mail hi to Ann.") == ["Sent."]
    assert loop.ran == [("mail__send_email", {"to": "ann@example.org"})]
    assert names_in(through.provider.bodies[-1]) == ["tool_search", "mail__send_email"]


@pytest.mark.parametrize("form", FORMS)
def test_without_tools_and_without_asking_nothing_is_added(form: str) -> None:
    with proxied(Answer("Hi."), Answer("Hi.")) as through:
        caller(through, form, tools=()).ask("Hi.")
    assert "tools" not in through.provider.bodies[0]
    with proxied(Answer("Hi."), Answer("Hi."), proxy_catalog=True) as through:
        caller(through, form, tools=()).ask("Hi.")
        caller(through, form, tools=(), default_headers={"X-ToolSearch-Catalog": "none"}).ask("Hi.")
    assert [names_in(body) if "tools" in body else [] for body in through.provider.bodies] == [
        ["tool_search"],
        [],
    ]


@pytest.mark.parametrize("form", FORMS)
def test_tools_of_the_caller_are_sent_beside_the_catalog(form: str) -> None:
    steps = (searches("send an email message"), Answer("Hm."))
    with proxied(*steps) as through:
        own = [("get_weather", "Current weather of a city.")]
        caller(through, form, tools=own, default_headers=IN_CATALOG).ask("Mail hi to Ann.")
    assert names_in(through.provider.bodies[0]) == ["tool_search", "get_weather"]
    assert names_in(through.provider.bodies[1]) == ["tool_search", "get_weather", "mail__send_email"]


def test_a_key_of_the_service_has_a_header_of_its_own_and_says_what_may_be_found() -> None:
    steps = (searches("send an email message"), Answer("Nothing."))
    with proxied(*steps) as through:
        hidden = through.service.key(deny=("mail__*",))
        for headers in ({}, {"X-ToolSearch-Key": "wrong"}):
            with pytest.raises(openai.AuthenticationError, match="X-ToolSearch-Key"):
                caller(through, "openai_chat", tools=(), default_headers=headers).ask("Hi.")
        headers = {**IN_CATALOG, "X-ToolSearch-Key": hidden}
        caller(through, "openai_chat", tools=(), default_headers=headers).ask("Mail hi to Ann.")
    assert len(through.provider.bodies) == 2
    assert "mail__send_email" not in json.dumps(through.provider.bodies)
    assert hidden not in json.dumps([dict(headers) for headers in through.provider.headers])


def test_a_key_of_the_service_does_not_get_to_the_provider() -> None:
    with proxied(Answer("Hi.")) as through:
        ours = through.service.key()
        headers = {"X-ToolSearch-Key": ours}
        for name, value in (("Authorization", f"Bearer {ours}"), ("x-api-key", ours), ("api-key", ours)):
            answer = through.post("openai_chat", message("openai_chat", "Hi"), {**headers, name: value})
            assert answer.status_code == 403
            assert ours not in answer.text
        assert (
            through.service.http.get("/openai/v1/models", headers={"Authorization": ours}).status_code == 401
        )
    assert through.provider.bodies == []


def test_a_key_that_may_not_search_may_ask_no_model() -> None:
    with proxied() as through:
        managing = through.service.key(KeyScope.MANAGE)
        answer = through.post("anthropic", {}, {"X-ToolSearch-Key": managing})
        assert (answer.status_code, answer.json()["error"]["type"]) == (403, "permission_error")


def test_conversations_of_two_keys_of_the_provider_know_nothing_of_each_other() -> None:
    steps = (searches("send an email message"), Answer(calls=(SEND,)), Answer("One."), Answer("Two."))
    with proxied(*steps) as through:
        loop = caller(through, "anthropic", api_key="first")
        loop.ask("Mail hi to Ann.")
        other = caller(through, "anthropic", api_key="second")
        other.history = loop.history
        other.ask("Thanks.")
    assert '"tool_search"' in json.dumps(through.provider.bodies[2]["messages"])
    assert '"tool_search"' not in json.dumps(through.provider.bodies[3]["messages"])


@pytest.mark.parametrize("form", FORMS)
def test_models_may_have_other_names_here_and_others_are_none(form: str) -> None:
    with proxied(Answer("Hi."), Answer("Hi."), proxy_model=("gpt-*", "fast=real-1")) as through:
        for model in ("fast", "gpt-9"):
            assert through.post(form, {**message(form, "Hi"), "model": model}).status_code == 200
        answer = through.post(form, {**message(form, "Hi"), "model": "other"})
        assert answer.status_code == 404
        assert "model 'other'" in answer.json()["error"]["message"]
    assert [body["model"] for body in through.provider.bodies] == ["real-1", "gpt-9"]


def test_tools_are_embedded_once_and_of_a_changed_list_what_is_new() -> None:
    embedded: list[str] = []

    class Counting(HashingEmbedder):
        def embed_documents(self, texts: Any, *, progress: Any = None) -> Any:
            embedded.extend(texts)
            return super().embed_documents(texts, progress=progress)

    with proxied(then=Answer("Hi."), embedder=Counting()) as through:
        embedded.clear()
        for _ in range(3):
            caller(through, "anthropic").ask("Hi.")
        assert len(embedded) == len(TOOLS)
        caller(through, "anthropic", tools=[*TOOLS, ("pay", "Pay a bill.")]).ask("Hi.")
        assert len(embedded) == len(TOOLS) + 1


def test_what_was_spared_is_in_the_usage_of_the_tenant() -> None:
    with proxied(searches("send an email message"), Answer("Hm.")) as through:
        many = [*TOOLS, *((f"tool_{n}", f"Does thing number {n}.") for n in range(50))]
        caller(through, "openai_responses", tools=many).ask("Mail hi to Ann.")
        used = through.service.http.get("/v1/usage").json()["total"]
    assert used["searches"] == 1
    assert used["spared_tokens"] > 2000
    assert 0 < used["returned_tokens"] < 1000


@pytest.mark.parametrize("form", ["openai_responses", "anthropic"])
def test_tokens_are_counted_of_the_round_that_would_come(form: str) -> None:
    with proxied() as through, through.client(form) as client:
        tools = definitions(form, TOOLS)
        if form == "anthropic":
            client.messages.count_tokens(model="m", messages=message(form, "Hi")["messages"], tools=tools)
        else:
            client.responses.input_tokens.count(model="m", input="Hi", tools=tools)
    assert names_in(through.provider.bodies[0]) == ["tool_search"]


@pytest.mark.parametrize("form", ["openai_chat", "anthropic"])
def test_the_stream_helpers_of_the_clients_read_a_stream_with_searches(form: str) -> None:
    steps = (
        searches("send an email message", text="Let me look."),
        Answer("Sending.", calls=(search_call("weather of a city", call_id="s2"), SEND)),
    )
    with proxied(*steps) as through, through.client(form) as client:
        tools = definitions(form, TOOLS)
        asked = message(form, "Mail hi to Ann.")
        if form == "anthropic":
            with client.messages.stream(**asked, tools=tools) as stream:
                said = "".join(stream.text_stream)
                whole = stream.get_final_message()
            assert said == "Let me look.Sending."
            assert [block.type for block in whole.content] == ["text", "text", "tool_use"]
            assert (whole.id, whole.stop_reason) == ("msg_1", "tool_use")
            assert (whole.usage.input_tokens, whole.usage.output_tokens) == (16, 14)
        else:
            with client.chat.completions.stream(
                model="m",
                messages=asked["messages"],
                tools=tools,
                stream_options={"include_usage": True},
            ) as stream:
                ids = {event.chunk.id for event in stream if event.type == "chunk"}
                done = stream.get_final_completion()
            assert ids == {"chatcmpl-1"}
            assert done.choices[0].message.content == "Let me look.\n\nSending."
            assert [c.function.name for c in done.choices[0].message.tool_calls] == ["mail__send_email"]
            assert (done.choices[0].finish_reason, done.usage.completion_tokens) == ("tool_calls", 14)


def test_events_of_a_response_are_numbered_as_one() -> None:
    steps = (
        searches("send an email message", text="Let me look."),
        Answer("Sending.", calls=(search_call("weather of a city", call_id="s2"), SEND)),
    )
    with proxied(*steps) as through, through.client("openai_responses") as client:
        events = list(
            client.responses.create(
                model="m", input="Mail.", tools=definitions("openai_responses", TOOLS), stream=True
            )
        )
    assert [event.sequence_number for event in events] == list(range(len(events)))
    places = [event.output_index for event in events if hasattr(event, "output_index")]
    assert places == sorted(places)
    last = events[-1].response
    assert (last.id, events[0].response.id) == ("resp_1", "resp_1")
    assert [item.type for item in last.output] == ["message", "message", "function_call"]
    assert last.usage.total_tokens == 36
