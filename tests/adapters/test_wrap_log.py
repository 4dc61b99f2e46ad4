"""What a wrapped client sends of the tools that it is given is in the log, and nothing of what was said."""

from __future__ import annotations

import logging

import pytest

from tests.adapters.callers import FORMS, MODES, Caller, client, wrapped
from tests.adapters.serving import SEND, TOOLS, definitions, searches, served
from tests.fake_provider.answers import Answer


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_each_request_tells_how_many_tools_are_sent_and_hidden(
    form: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "toolsearch.adapters")
    steps = (searches("send an email message"), Answer(calls=(SEND,)), Answer("Sent."))
    with served(*steps) as (_, url):
        plain = client(form, url, is_async="async" in mode)
        Caller(form, wrapped(plain, pinned=("get_weather",)), definitions(form, TOOLS), mode).ask("Mail hi.")
    tokens = caplog.messages[0].split()[2]
    assert caplog.messages == [
        f"5 tools, {tokens} tokens: 1 shown, 4 hidden",
        f"5 tools, {tokens} tokens: 2 shown, 3 hidden",
        f"5 tools, {tokens} tokens: 2 shown, 3 hidden",
    ]


def test_a_list_that_is_sent_whole_is_told_with_what_it_costs(caplog: pytest.LogCaptureFixture) -> None:
    """Below the threshold, by the tokens that are compared with it."""
    caplog.set_level(logging.DEBUG, "toolsearch.adapters")
    tools = definitions("openai_chat", TOOLS)
    with served(then=Answer("Hello.")) as (_, url):
        for threshold in (100_000, 0):
            wrapping = wrapped(client("openai_chat", url), whole_below_tokens=threshold)
            Caller("openai_chat", wrapping, tools).ask("Hello.")
    whole, searched = caplog.messages
    told, _, ending = whole.partition(": ")
    assert ending == "sent whole"
    assert searched == f"{told}: 0 shown, 5 hidden"
    n_tokens = int(told.split()[2])
    assert 50 < n_tokens < 500
    caplog.clear()
    with served(then=Answer("Hello.")) as (_, url):
        for threshold in (n_tokens, n_tokens + 1):
            wrapping = wrapped(client("openai_chat", url), whole_below_tokens=threshold)
            Caller("openai_chat", wrapping, tools).ask("Hello.")
    assert [message.partition(": ")[2] for message in caplog.messages] == ["0 shown, 5 hidden", "sent whole"]


def test_without_tools_there_is_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolsearch.adapters")
    with served(Answer("Hello.")) as (_, url):
        Caller("openai_chat", wrapped(client("openai_chat", url)), []).ask("Hello.")
    assert caplog.messages == []
