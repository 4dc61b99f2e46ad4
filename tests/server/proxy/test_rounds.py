"""Search rounds within one request of an official client, whose base URL alone was changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS, MODES, Caller
from tests.adapters.serving import (
    SEND,
    TOOLS,
    WEATHER,
    conversation,
    definitions,
    names_in,
    search_call,
    searches,
)
from tests.fake_provider.answers import Answer
from tests.server.proxy.support import Proxied, proxied


def caller(through: Proxied, form: str, mode: str = "plain", **options: Any) -> Caller:
    return Caller(form, through.client(form, mode, **options), definitions(form, TOOLS), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_task_of_several_rounds_gets_only_calls_of_its_own_tools(form: str, mode: str) -> None:
    steps = (
        searches("send an email message"),
        Answer(calls=(SEND,)),
        searches("current weather of a city", call_id="s2"),
        Answer(calls=(WEATHER,)),
        Answer("All done."),
        Answer("You are welcome."),
    )
    with proxied(*steps) as through:
        loop = caller(through, form, mode)
        assert loop.ask("Mail the weather to Ann.", "Thanks.") == ["All done.", "You are welcome."]
    assert loop.ran == [("mail__send_email", {"text": "hi"}), ("get_weather", {"text": "Oslo"})]
    assert list(map(names_in, through.provider.bodies[:3])) == [
        ["tool_search"],
        ["tool_search", "mail__send_email"],
        ["tool_search", "mail__send_email"],
    ]
    assert names_in(through.provider.bodies[-1]) == ["tool_search", "mail__send_email", "get_weather"]
    # Each request continues the one before, as the cache of a provider needs it.
    for position in range(len(steps) - 1):
        before, after = conversation(through.provider, position), conversation(through.provider, position + 1)
        assert after[: len(before)] == before
    assert not any("tool_search" in json.dumps(item, default=repr) for item in loop.history)
    # Usage of an answer is that of its rounds, of which the first and the third request had two.
    n_input, n_output = 11 - 3 * (form == "anthropic"), 7
    assert loop.usages == [(n * n_input, n * n_output) for n in (2, 2, 1, 1)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_search_beside_a_call_is_run_and_kept_from_the_caller(form: str, mode: str) -> None:
    steps = (
        searches("send an email message"),
        Answer(calls=(search_call("current weather of a city", call_id="s2"), SEND)),
        Answer(calls=(WEATHER,)),
        Answer("Done."),
    )
    with proxied(*steps) as through:
        loop = caller(through, form, mode)
        assert loop.ask("Mail hi to Ann, then tell me the weather.") == ["Done."]
    assert [name for name, _ in loop.ran] == ["mail__send_email", "get_weather"]
    assert names_in(through.provider.bodies[2]) == ["tool_search", "mail__send_email", "get_weather"]
    sent = json.dumps(conversation(through.provider, 2))
    assert sent.count('"s2"') == 2
    assert "- get_weather: Current weather of a city." in sent
