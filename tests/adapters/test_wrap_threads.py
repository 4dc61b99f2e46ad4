"""Many conversations at once through one wrapped client: what one has found, no other one sees."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.adapters.callers import FORMS, client, wrapped
from tests.adapters.serving import definitions, names_in, search_call, served
from tests.adapters.ways import RESOURCES, now, resource_of
from tests.fake_provider.answers import Answer, Call
from toolsearch.adapters import conversation
from toolsearch.session.memory import MemorySessionStore
from toolsearch.testing import HashingEmbedder

Json = dict[str, Any]

# Words that share no letters with each other, so that a search finds the one tool that has them.
SUBJECTS = [
    f"{first}{second}" for first in ("alpha", "bravo", "delta") for second in ("quilt", "zebra", "vixen")
]
TOOLS = [(f"use_{subject}", f"Works with {subject}.") for subject in SUBJECTS]
TURNS = 3


def model(body: Json) -> Answer:
    """Searches for the subject of each user message, calls the tool of that name, and then is done.

    It insists that the request offers what this conversation has asked for, and nothing else.
    """
    messages = body.get("messages") or body["input"]
    told = [json.dumps(message) for message in messages]
    user = max(place for place, text in enumerate(told) if "Use " in text and '"user"' in text)
    asked = re.findall(r"Use (\w+)\.", " ".join(told))
    since = " ".join(told[user + 1 :])
    wanted, known = f"use_{asked[-1]}", [f"use_{subject}" for subject in asked[:-1]]
    found = [*dict.fromkeys(known), *([wanted] if f"s{user}" in since and wanted not in known else [])]
    if names_in(body) != ["tool_search", *found]:
        return Answer(f"Wrong: {names_in(body)} for {found}.")
    if f"c{user}" in since:
        return Answer(f"Done {asked[-1]}.")
    if wanted in found:
        return Answer(calls=(Call(f"c{user}", wanted),))
    return Answer(calls=(search_call(f"works with {asked[-1]}", call_id=f"s{user}"),))


class Talk:
    """A conversation over a client that others use, too; each may go on in another thread."""

    def __init__(self, form: str, searching: Any, number: int) -> None:
        self.form = form
        self.create = resource_of(searching, RESOURCES[form]).create
        self.subjects = [
            SUBJECTS[(number + turn * (1 + number % 2)) % len(SUBJECTS)] for turn in range(TURNS)
        ]
        self.history: list[Any] = []
        self.said: list[str] = []

    async def turn(self, subject: str) -> None:
        self.history.append({"role": "user", "content": [{"type": "text", "text": f"Use {subject}."}]})
        while True:
            call = self._read(await now(self.create(**self._arguments())))
            if call is None:
                return
            self.history.append(self._result(call))

    def _arguments(self) -> Json:
        key = "input" if self.form == "openai_responses" else "messages"
        limit = {"max_tokens": 9} if self.form == "anthropic" else {}
        return {"model": "m", key: list(self.history), "tools": definitions(self.form, TOOLS), **limit}

    def _read(self, answer: Any) -> str | None:
        if self.form == "openai_chat":
            message = answer.choices[0].message
            self.history.append(message)
            calls = [call.id for call in message.tool_calls or ()]
            text = message.content or ""
        elif self.form == "openai_responses":
            self.history += answer.output
            calls = [item.call_id for item in answer.output if item.type == "function_call"]
            text = answer.output_text
        else:
            self.history.append({"role": "assistant", "content": answer.content})
            calls = [block.id for block in answer.content if block.type == "tool_use"]
            text = "".join(block.text for block in answer.content if block.type == "text")
        self.said += [text] if text else []
        return calls[0] if calls else None

    def _result(self, call_id: str) -> Json:
        if self.form == "openai_chat":
            return {"role": "tool", "tool_call_id": call_id, "content": "ok"}
        if self.form == "openai_responses":
            return {"type": "function_call_output", "call_id": call_id, "output": "ok"}
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "ok"}]}

    @property
    def expected(self) -> list[str]:
        return [f"Done {subject}." for subject in self.subjects]


@pytest.mark.parametrize("form", FORMS)
def test_threads_share_a_client_and_no_conversation(form: str) -> None:
    """And each turn of a conversation runs in another thread than the one before."""
    with served(then=model) as (_, url), wrapped(client(form, url), max_rounds=2) as searching:
        talks = [Talk(form, searching, number) for number in range(12)]
        threads: dict[int, set[int]] = defaultdict(set)

        def step(number: int, turn: int) -> None:
            threads[number].add(threading.get_ident())
            asyncio.run(talks[number].turn(talks[number].subjects[turn]))

        with contextlib.ExitStack() as stack:
            pools = [stack.enter_context(ThreadPoolExecutor(8)) for _ in range(TURNS)]
            for turn, pool in enumerate(pools):
                list(pool.map(step, range(len(talks)), [turn] * len(talks)))
    assert [talk.said for talk in talks] == [talk.expected for talk in talks]
    assert all(len(seen) == TURNS for seen in threads.values())


@pytest.mark.parametrize("form", FORMS)
def test_tasks_share_a_client_and_no_conversation(form: str) -> None:
    async def all_at_once(searching: Any) -> list[Talk]:
        talks = [Talk(form, searching, number) for number in range(12)]

        async def talk_through(talk: Talk) -> None:
            for subject in talk.subjects:
                await talk.turn(subject)

        async with searching:
            await asyncio.gather(*map(talk_through, talks))
        return talks

    with served(then=model) as (_, url):
        talks = asyncio.run(all_at_once(wrapped(client(form, url, is_async=True))))
    assert [talk.said for talk in talks] == [talk.expected for talk in talks]


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "tasks"])
def test_sessions_around_calls_do_not_mix(is_async: bool) -> None:
    """`conversation` holds for its thread or task alone, and the store has what each of them found."""
    store = MemorySessionStore()

    def search_or_stop(body: Json) -> Answer:
        (subject,) = re.findall(r"Use (\w+)\.", json.dumps(body["messages"]))
        call = search_call(f"works with {subject}")
        return Answer("Found.") if len(names_in(body)) > 1 else Answer(calls=(call,))

    async def ask(searching: Any, subject: str) -> None:
        message = {"role": "user", "content": f"Use {subject}."}
        with conversation(subject, tenant="acme"):
            await now(
                searching.chat.completions.create(
                    model="m", messages=[message], tools=definitions("openai_chat", TOOLS)
                )
            )

    async def all_at_once(searching: Any) -> None:
        async with searching:
            await asyncio.gather(*(ask(searching, subject) for subject in SUBJECTS))

    with served(then=search_or_stop) as (_, url):
        searching = wrapped(client("openai_chat", url, is_async=is_async), session_store=store)
        if is_async:
            asyncio.run(all_at_once(searching))
        else:
            with searching, ThreadPoolExecutor(len(SUBJECTS)) as pool:
                list(pool.map(lambda subject: asyncio.run(ask(searching, subject)), SUBJECTS))
    assert {subject: store.discovered(subject, "acme") for subject in SUBJECTS} == {
        subject: (f"use_{subject}",) for subject in SUBJECTS
    }


def test_threads_that_begin_at_once_build_one_index() -> None:
    embedder = HashingEmbedder()
    barrier = threading.Barrier(6)

    def ask(searching: Any) -> None:
        barrier.wait()
        message = {"role": "user", "content": "Hi."}
        tools = definitions("openai_chat", TOOLS)
        searching.chat.completions.create(model="m", messages=[message], tools=tools)

    with (
        served(then=Answer("Hi.")) as (_, url),
        wrapped(client("openai_chat", url), embedder=embedder) as searching,
        ThreadPoolExecutor(6) as pool,
    ):
        list(pool.map(ask, [searching] * 6))
    assert len(embedder.embedded) == len(set(embedder.embedded)) == len(TOOLS)
