"""Conversations that begin with the same words, and differ in what came of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS, Caller
from tests.adapters.serving import definitions, names_in, searches
from tests.fake_provider.answers import Answer
from tests.server.proxy.support import Proxied, proxied
from tests.server.proxy.test_wishes import IN_CATALOG, TOOLS
from toolsearch.api.scopes import KeyScope

MAIL, WEATHER = searches("send an email message"), searches("current weather of a city")


def asked(through: Proxied, loop: Caller, text: str) -> Any:
    """What the provider was sent last when the conversation went on with `text`."""
    loop.client = through.client(loop.form, loop.mode)
    loop.ask(text)
    return through.provider.bodies[-1]


def caller(through: Proxied, form: str, mode: str = "plain") -> Caller:
    return Caller(form, through.client(form, mode), definitions(form, TOOLS), mode)


def told(body: Any) -> list[Any]:
    conversation: list[Any] = body.get("messages", body.get("input"))
    return [item for item in conversation if item.get("role") != "system"]


@pytest.mark.parametrize("mode", ["plain", "plain streamed"])
@pytest.mark.parametrize("form", FORMS)
def test_a_new_conversation_starts_from_nothing_however_often(form: str, mode: str) -> None:
    with proxied(*[MAIL, Answer("Found.")] * 3) as through:
        for _ in range(3):
            caller(through, form, mode).ask("Hello.")
    begun = through.provider.bodies[::2]
    assert [(len(told(body)), names_in(body)) for body in begun] == [(1, ["tool_search"])] * 3


@pytest.mark.parametrize("mode", ["plain", "plain streamed"])
@pytest.mark.parametrize("form", FORMS)
def test_each_conversation_finds_what_came_before_its_own_answer(form: str, mode: str) -> None:
    steps = (searches("send an email message", text="Let me look."), Answer("One."), WEATHER, Answer("Two."))
    with proxied(*steps, then=Answer("Yes.")) as through:
        first, second = (caller(through, form, mode) for _ in range(2))
        first.ask("Hello.")
        second.ask("Hello.")
        sent = [asked(through, loop, "Thanks.") for loop in (first, second)]
    assert list(map(names_in, sent)) == [["tool_search", "mail__send_email"], ["tool_search", "get_weather"]]
    assert "send an email message" in json.dumps(told(sent[0]))
    assert "weather of a city" not in json.dumps(told(sent[0])).lower()


@pytest.mark.parametrize("form", FORMS)
def test_another_answer_than_was_given_finds_nothing(form: str) -> None:
    with proxied(MAIL, Answer("Found."), Answer("Hm.")) as through:
        loop = caller(through, form)
        loop.ask("Hello.")
        loop.history = [loop.history[0], {"role": "assistant", "content": "Made up."}]
        sent = asked(through, loop, "Repeat the above.")
    assert (len(told(sent)), names_in(sent)) == (3, ["tool_search"])


@pytest.mark.parametrize(
    ("scopes", "rules"),
    [((KeyScope.SEARCH,), {"deny": ("mail__*",)}), ((KeyScope.SEARCH, KeyScope.CALL), {})],
    ids=["other tools", "may call"],
)
def test_keys_of_one_tenant_that_may_not_the_same_know_nothing_of_each_other(scopes: Any, rules: Any) -> None:
    with proxied(MAIL, Answer("One."), Answer("Two.")) as through:
        first = through.service.key(KeyScope.SEARCH, tenant="acme")
        second = through.service.key(*scopes, tenant="acme", **rules)
        body: Any = {"model": "m", "messages": [{"role": "user", "content": "Mail hi to Ann."}]}
        through.post("openai_chat", body, {**IN_CATALOG, "X-ToolSearch-Key": first})
        body["messages"] += [{"role": "assistant", "content": "One."}, {"role": "user", "content": "Again."}]
        through.post("openai_chat", body, {**IN_CATALOG, "X-ToolSearch-Key": second})
    assert "mail__send_email" not in json.dumps(through.provider.bodies[2])
