"""Conversations that go on through another process, which does not know their hidden search rounds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS, Caller, put_together
from tests.adapters.serving import SEND, TOOLS, WEATHER, definitions, search_call, searches, served
from tests.fake_provider.answers import Answer
from tests.server.proxy.support import Proxied
from tests.server.support import service

Pair = tuple[Proxied, Proxied]


@contextlib.contextmanager
def replicas(*steps: Any, **settings: Any) -> Iterator[Pair]:
    """Two services in front of one provider; what they share is in `settings`."""
    with served(*steps) as (provider, url), contextlib.ExitStack() as stack:
        chosen: dict[str, Any] = {
            "openai_upstream": url,
            "anthropic_upstream": url,
            "proxy_whole_below_tokens": 0,
        }
        chosen |= {"tool_limit": 1, **settings}
        one, other = (Proxied(provider, stack.enter_context(service(**chosen))) for _ in range(2))
        yield one, other


FIND = search_call("send an email message")
ERRAND = (
    Answer("Sending.", calls=(SEND, search_call("current weather of a city", call_id="s2")), reasoning="So."),
    # Another process does not know what the search beside the call has found.
    searches("current weather of a city", call_id="s3"),
    Answer(calls=(WEATHER,), reasoning="And."),
    Answer("All done."),
    Answer("Bye."),
)
FIRST = {
    "silent": Answer(calls=(FIND,), reasoning="Hm."),
    "text": Answer("Let me look.", (FIND,), reasoning="Hm."),
    "summary": Answer(calls=(FIND,), reasoning="Hm.", summary="I need a tool."),
}


class Moving(Caller):
    """A caller each of whose requests goes to the next replica."""

    def __init__(self, pair: Pair, form: str, mode: str, **options: Any) -> None:
        clients = [each.client(form, mode) for each in pair]
        super().__init__(form, clients[0], definitions(form, TOOLS), mode, options=options)
        self.clients = clients

    async def _create(self) -> Any:
        self.clients.append(self.clients.pop(0))
        self.client = self.clients[0]
        return await super()._create()


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("mode", ["plain", "streamed"])
@pytest.mark.parametrize("form", FORMS)
def test_a_history_goes_on_at_a_process_that_does_not_know_it(form: str, mode: str, first: str) -> None:
    with replicas(FIRST[first], *ERRAND) as pair:
        loop = Moving(pair, form, mode)
        assert [said[-9:] for said in loop.ask("Mail hi to Ann, then the weather.", "Thanks.")] == [
            "All done.",
            "Bye.",
        ]
        for client in loop.clients:
            client.close()
    assert [name for name, _ in loop.ran] == ["mail__send_email", "get_weather"]


def stateful(clients: list[Any], *, streamed: bool, **options: Any) -> Iterator[Any]:
    """The answers of a loop that leaves its history to the provider, each by the next replica."""
    told: Any = "Mail hi to Ann, then the weather."
    tools = definitions("openai_responses", TOOLS)
    while True:
        clients.append(clients.pop(0))
        answer = clients[0].responses.create(
            **{"model": "m", **options}, input=told, tools=tools, **({"stream": True} if streamed else {})
        )
        if streamed:
            answer = put_together("openai_responses", answer)
        yield answer
        calls = [item for item in answer.output if item.type == "function_call"]
        told = [
            {"type": "function_call_output", "call_id": call.call_id, "output": f"{call.name} ran"}
            for call in calls
        ] or "Thanks."
        if "conversation" not in options:
            options["previous_response_id"] = answer.id


def talked(pair: Pair, *, streamed: bool, **options: Any) -> list[str]:
    """What the answers of a whole errand say."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(each.client("openai_responses")) for each in pair]
        answers = stateful(clients, streamed=streamed, **options)
        return [next(answers).output_text for _ in range(4)]


SAID = ["Sending.", "", "All done.", "Bye."]
KEPT = pytest.mark.parametrize(
    "options", [{}, {"conversation": "conv_1"}], ids=["previous response", "conversation"]
)


@KEPT
@pytest.mark.parametrize("streamed", [False, True])
def test_a_conversation_that_the_provider_keeps_goes_on(options: dict[str, Any], streamed: bool) -> None:
    with replicas(FIRST["silent"], *ERRAND) as pair:
        assert talked(pair, streamed=streamed, **options) == SAID


@KEPT
@pytest.mark.parametrize("first", FIRST)
def test_a_database_tells_where_a_streamed_response_goes_on(
    options: dict[str, Any], first: str, tmp_path: Path
) -> None:
    """Such a response has the id of the first round that said something."""
    with replicas(FIRST[first], *ERRAND, database=tmp_path / "service.db") as pair:
        said = talked(pair, streamed=True, **options)
    assert [text.removeprefix("Let me look.") for text in said] == SAID


def test_without_a_database_the_caller_hears_what_the_provider_says_of_such_a_response() -> None:
    told = pytest.raises(openai.BadRequestError, match="No tool call found")
    with replicas(FIRST["text"], *ERRAND) as pair, told:
        talked(pair, streamed=True)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_that_the_caller_leaves_unanswered_is_its_own_to_mend(streamed: bool) -> None:
    with replicas(FIRST["silent"], *ERRAND) as pair, pair[0].client("openai_responses") as client:
        options: Any = {"model": "m", "tools": definitions("openai_responses", TOOLS)}
        first = client.responses.create(input="Mail.", **options)
        with pytest.raises(openai.BadRequestError, match="No tool output found for function call c1"):
            client.responses.create(input="Well?", previous_response_id=first.id, stream=streamed, **options)
