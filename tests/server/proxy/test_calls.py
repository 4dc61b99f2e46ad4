"""Tools of the catalog that the service runs itself, where it can and the caller wants it to."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS, MODES, Caller
from tests.adapters.serving import definitions, searches
from tests.fake_provider.answers import Answer, Call
from tests.server.proxy.support import Proxied, message, proxied
from toolsearch import tool
from toolsearch.api.scopes import KeyScope
from toolsearch.tools import Tool

RAN: list[str] = []


@tool
def convert_money(amount: float) -> str:
    """Convert an amount of money to euros."""
    RAN.append(f"convert {amount}")
    return f"{amount * 2} EUR"


@tool
def pay_bill(number: int) -> str:
    """Pay a bill."""
    raise RuntimeError("s3cr3t of the cash desk")


CATALOG: tuple[Tool, ...] = (convert_money, pay_bill)
WISHES = {"X-ToolSearch-Catalog": "default", "X-ToolSearch-Call": "true"}
CONVERT = Call("c1", "convert_money", '{"amount": 21}')
OWN = Call("c2", "get_weather", "{}")


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


def caller(through: Proxied, form: str, mode: str = "plain", tools: Any = (), **headers: str) -> Caller:
    client = through.client(form, mode, default_headers={**WISHES, **headers})
    return Caller(form, client, definitions(form, tools), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_the_service_runs_what_it_can(form: str, mode: str) -> None:
    steps = (searches("convert money to euros"), Answer(calls=(CONVERT,)), Answer("42 euros."))
    with proxied(*steps, tools=CATALOG, callable_tools=CATALOG) as through:
        loop = caller(through, form, mode)
        assert loop.ask("How much is it?") == ["42 euros."]
        assert through.service.http.get("/v1/usage").json()["total"]["calls"] == 1
    assert (RAN, loop.ran) == (["convert 21.0"], [])
    assert "42.0 EUR" in json.dumps(through.provider.bodies[-1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_beside_a_call_of_the_caller_it_is_run_once_and_told_in_the_next_request(
    form: str, mode: str
) -> None:
    steps = (
        searches("convert money to euros"),
        Answer(calls=(CONVERT, OWN)),
        Answer("42 euros, and rain."),
    )
    own = [("get_weather", "Current weather of a city.")]
    with proxied(*steps, tools=CATALOG, callable_tools=CATALOG) as through:
        loop = caller(through, form, mode, own)
        assert loop.ask("How much is it, and how is the weather?") == ["42 euros, and rain."]
    assert (RAN, [name for name, _ in loop.ran]) == (["convert 21.0"], ["get_weather"])
    sent = json.dumps(through.provider.bodies[-1])
    assert "42.0 EUR" in sent
    assert "get_weather ran" in sent


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_asked_for_comes_back_to_the_caller(form: str) -> None:
    steps = (searches("convert money to euros"), Answer(calls=(CONVERT,)), Answer("Done."))
    with proxied(*steps, tools=CATALOG, callable_tools=CATALOG) as through:
        loop = caller(through, form, **{"X-ToolSearch-Call": "false"})
        loop.ask("How much is it?")
    assert (RAN, loop.ran) == ([], [("convert_money", {"amount": 21})])


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_that_the_caller_gave_is_the_callers_to_run(form: str) -> None:
    steps = (searches("convert money to euros"), Answer(calls=(CONVERT,)), Answer("Done."))
    own = [("convert_money", "Convert an amount of money to euros.")]
    with proxied(*steps, tools=CATALOG, callable_tools=CATALOG) as through:
        loop = caller(through, form, tools=own)
        loop.ask("How much is it?")
    assert (RAN, [name for name, _ in loop.ran]) == ([], ["convert_money"])


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_that_was_not_found_does_not_run(form: str) -> None:
    steps = (Answer(calls=(CONVERT,)), Answer("Hm."))
    with proxied(*steps, tools=CATALOG, callable_tools=CATALOG) as through:
        assert caller(through, form).ask("How much is it?") == ["Hm."]
    assert RAN == []
    assert "There is no tool 'convert_money'" in json.dumps(through.provider.bodies[1])


def test_a_failure_of_a_tool_is_told_in_neutral_words() -> None:
    call = Call("c1", "pay_bill", '{"number": 3}')
    steps = (searches("pay a bill"), Answer(calls=(call,)), Answer("It failed."))
    with proxied(*steps, tools=CATALOG, callable_tools=CATALOG) as through:
        assert caller(through, "anthropic").ask("Pay it.") == ["It failed."]
    told = json.dumps(through.provider.bodies[-1])
    assert "s3cr3t" not in told
    assert '"is_error": true' in told


def test_running_tools_takes_the_scope_for_it() -> None:
    with proxied(tools=CATALOG, callable_tools=CATALOG) as through:
        searching = through.service.key(KeyScope.SEARCH)
        headers = {**WISHES, "X-ToolSearch-Key": searching}
        answer = through.post("openai_chat", message("openai_chat", "Hi"), headers)
    assert (answer.status_code, "'call'" in answer.json()["error"]["message"]) == (403, True)


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_of_another_source_does_not_run_under_the_name_of_a_permitted_one(form: str) -> None:
    named_alike = dataclasses.replace(convert_money, source="bank", prefix="")
    steps = (searches("convert money to euros"), Answer(calls=(CONVERT,)), Answer("Done."))
    with proxied(*steps, tools=(named_alike, pay_bill), callable_tools=CATALOG) as through:
        key = through.service.key(KeyScope.SEARCH, KeyScope.CALL, sources=("bank",))
        loop = caller(through, form, **{"X-ToolSearch-Key": key})
        loop.ask("How much is it?")
    assert (RAN, [name for name, _ in loop.ran]) == ([], ["convert_money"])
