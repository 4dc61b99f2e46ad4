"""`Rounds`: the search rounds of one request, as one answer of the provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import httpx

from toolsearch.adapters.turn import Turn
from toolsearch.advisors.calls import PlannedCall
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.exceptions import LimitExceededError, UpstreamError
from toolsearch.messages import ToolResult
from toolsearch.server.proxy.events import EventReader, error_event, is_done
from toolsearch.server.proxy.open_calls import open_searches, refused_parts
from toolsearch.server.proxy.said import Said, json_object, json_text
from toolsearch.server.proxy.sending import Sending, broken
from toolsearch.server.work import Work
from toolsearch.tools import JsonObject

Ask: TypeAlias = Callable[[bytes, int], Awaitable[httpx.Response]]
"""Sends a body in the round of that number, from 0."""

Run: TypeAlias = Callable[[Sequence[PlannedCall]], Awaitable[Sequence[ToolResult]]]
"""Runs calls of tools of the service; a result for each, in order."""

Stored: TypeAlias = Callable[[], Awaitable[JsonObject | None]]
"""Reads what the provider itself keeps of the conversation; None where it cannot be had."""

Ran: TypeAlias = Mapping[int, ToolResult]

# What reading raises where JSON is not as the API says.
_ODD = (AttributeError, TypeError, ValueError, KeyError, IndexError)
_BAD_REQUEST = 400
_MENDED = 8
"""So often is a request mended; a refusal names one item at a time."""

_UNREAD = "The provider sent an answer that is not as its API says, and it may hold a search."
_OTHER_FORM = "The provider sent a stream where none was asked for, or none where one was."


@dataclass(frozen=True)
class Rounds:
    """What carries out a turn."""

    turn: Turn
    ask: Ask
    work: Work
    sending: Sending
    run: Run
    stored: Stored

    async def answer(self, body: bytes, *, streamed: bool) -> None:
        """Ask with `body`, search as often as the model wants to, and send what it says in the end.

        Raises:
            UpstreamError: there was no answer; the caller has been sent nothing, or a part that breaks off.
            TooBusyError, TookTooLongError: there was no thread for a search in time.
        """
        chunks = self.turn.chunks() if streamed else None
        again: bytes | None = body
        for number in count():
            if again is None:
                return
            response = await self.ask(again, number)
            async with aclosing(response):
                if not response.is_success:
                    again = await self._mended(response) if number < _MENDED else None
                    if again is None:
                        await self._refused(response)
                elif _is_stream(response) != streamed:
                    await self._other(response)
                    return
                elif chunks is None:
                    again = await self._whole(response)
                else:
                    again = await self._stream(response, chunks)

    async def _mended(self, response: httpx.Response) -> bytes | None:
        """The body once more, of a conversation whose hidden rounds another process knows.

        The searches are answered that the provider waits for, and no others, and what it takes back only with
        a search is left out. None where that is not what it refuses.
        """
        if response.status_code != _BAD_REQUEST or self.turn.n_rounds:
            return None
        told = refused_parts(json_object(await _body(response)))
        if not told:
            return None
        if not self.turn.mend(told):
            searches = open_searches(await self.stored(), told)
            if not searches:
                return None
            await self.work.run(self.turn.answer, searches)
        return self._next()

    async def _whole(self, response: httpx.Response) -> bytes | None:
        """The body of the next round; None where the answer was sent."""
        raw = await _body(response)
        record = json_object(raw)
        if record is None:
            await self.sending.whole(response, raw)
            return None
        said = Said(record, raw=raw)
        if _searches(self.turn, record):
            finished, again = await self.work.run(self._finished, said, await self._ran(record))
        else:
            finished, again = self._as_it_is(said)
        if again is None:
            await self.sending.whole(response, finished.written())
        return again

    async def _stream(self, response: httpx.Response, chunks: Any) -> bytes | None:
        """The body of the next round; None where the answer was sent."""
        done: list[Said | bytes] = []
        try:
            async for events in _batches(response.aiter_bytes()):
                shown: list[Said | bytes] = []
                for event in events:
                    if is_done(event):
                        done.append(event)
                    else:
                        shown += [event] if isinstance(event, bytes) else _shown(chunks, event)
                await self.sending.events(response, shown)
        except httpx.HTTPError as exc:
            raise broken(exc) from exc
        answer = _whole(chunks)
        if _searches(self.turn, answer):
            again = await self.work.run(self._taken, answer, await self._ran(answer))
        elif self.turn.moves(answer):
            again = await self.work.run(self._taken, answer)
        else:
            again = self._taken(answer)
        if again is None:
            await self.sending.last(response, [*chunks.last(), *done])
        else:
            chunks.start()
        return again

    async def _ran(self, answer: JsonObject) -> Ran:
        """The results of what is to run for an answer."""
        calls = self.turn.to_run(answer)
        results = await self.run(tuple(calls.values())) if calls else ()
        return dict(zip(calls, results, strict=True))

    def _as_it_is(self, said: Said) -> tuple[Any, bytes | None]:
        """An answer without a search, whatever else is in it."""
        try:
            return self._finished(said)
        except _ODD:
            return said, None

    def _finished(self, said: Said, ran: Ran | None = None) -> tuple[Any, bytes | None]:
        finished = _limited(self.turn.finished, said, ran)
        return finished, None if finished is not None else self._next()

    def _taken(self, answer: JsonObject, ran: Ran | None = None) -> bytes | None:
        return None if _limited(self.turn.take, answer, ran) else self._next()

    def _next(self) -> bytes:
        return json_text(self.turn.request())

    async def _other(self, response: httpx.Response) -> None:
        """Send an answer in another form than was asked for, unless it may hold a search."""
        raw = await _body(response)
        if self.sending.has_begun or SEARCH_TOOL.encode() in raw:
            raise UpstreamError(_OTHER_FORM, is_final=True)
        await self.sending.whole(response, raw)

    async def _refused(self, response: httpx.Response) -> None:
        """Send what is no answer: an error of the provider."""
        if not self.sending.has_begun:
            await self.sending.passed(response)
            return
        told = {"error": {"message": f"The provider answered {response.status_code}."}}
        error = json_object(await _body(response)) or told
        await self.sending.failed(error_event(self.turn.form, error))


async def _body(response: httpx.Response) -> bytes:
    try:
        return await response.aread()
    except httpx.HTTPError as exc:
        raise broken(exc) from exc


async def _batches(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[Said | bytes]]:
    """The events of a stream, those together that came together."""
    reader = EventReader()
    async for piece in pieces:
        yield reader.feed(piece)
    yield reader.rest()


def _searches(turn: Turn, answer: JsonObject) -> bool:
    """Whether an answer has a call that is answered here. What reads as no call is the caller's to read.

    Raises:
        UpstreamError: it cannot be told.
    """
    try:
        return turn.searches_in(answer)
    except _ODD as exc:
        if SEARCH_TOOL.encode() in json_text(answer):
            raise UpstreamError(_UNREAD, is_final=True) from exc
        return False


def _shown(chunks: Any, event: Said) -> Any:
    try:
        return chunks.show(event)
    except _ODD as exc:
        if SEARCH_TOOL.encode() in event.written():
            raise UpstreamError(_UNREAD, is_final=True) from exc
        return [event.raw or event]


def _whole(chunks: Any) -> Any:
    try:
        return chunks.answer()
    except _ODD as exc:
        raise UpstreamError(_UNREAD, is_final=True) from exc


def _limited(step: Callable[[Any, Ran | None], Any], argument: Any, ran: Ran | None) -> Any:
    try:
        return step(argument, ran)
    except LimitExceededError as exc:
        raise UpstreamError(str(exc), is_final=True) from None


def _is_stream(response: httpx.Response) -> bool:
    media_type: str = response.headers.get("content-type", "")
    return media_type.strip().lower().startswith("text/event-stream")
