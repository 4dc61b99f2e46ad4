"""What chat models over HTTP have in common: one request, one answer, whole or in pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, Unpack

from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RoundFinished, TextDelta
from toolsearch.chat.call_ids import with_unique_ids
from toolsearch.chat.http import EndpointSettings
from toolsearch.chat.pieces import TextPieces
from toolsearch.chat.service import Service
from toolsearch.chat.validate import validate
from toolsearch.checks import check_whole
from toolsearch.exceptions import ChatModelError, ModelUnreachableError
from toolsearch.tools import JsonObject

# What reading JSON of another form than expected runs into.
_UNREADABLE = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class Assembler(Protocol):
    """Makes of the events of one stream the answer that the provider would have given at once."""

    def add(self, event: JsonObject) -> str:
        """Takes an event; the text to show for it, often empty."""

    def answer(self) -> JsonObject | None:
        """The whole answer, once all events are in; None if the stream has broken off."""


class ModelSettings(EndpointSettings, total=False):
    """What every chat model over HTTP takes beside its name: the arguments of `HttpChatModel`."""

    base_url: str | None
    api_key: str | None
    options: Mapping[str, Any] | None
    headers: Mapping[str, str] | None


class HttpChatModel(ABC):
    """A chat model over HTTP; one instance serves any number of tasks.

    The key is `api_key`, or the environment variable ``TOOLSEARCH_CHAT_API_KEY``, or before that the
    provider's own variable, for the provider's own host alone; it appears in no message.
    """

    form: ClassVar[str]
    """Of its requests, as `validate` knows it."""

    def __init__(
        self,
        service: Service,
        model: str,
        *,
        native_search: bool,
        max_tools: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        **settings: Unpack[EndpointSettings],
    ) -> None:
        """Sends nothing yet.

        Args:
            service: The provider whose form the model speaks.
            model: Its name at the provider.
            native_search: Whether the model knows the provider's own tool search.
            max_tools: A request with more is refused before it is sent; None means what the provider itself
                takes, and no limit for others.
            base_url: Of another server that speaks the form; None is the provider.
            api_key: None takes it from the environment.
            options: More fields of each request body, such as ``{"temperature": 0}``; None takes one out.
            headers: More headers of each request.
            settings: Of the connection: `retries`, `timeout_s`, `transport`, `sleep`, `clock`, `random`.

        Raises:
            ValueError: `base_url` is no http or https URL, or the key or a header cannot be sent, or a number
                is not above 0.
            TypeError: `timeout_s` is no number, or `max_tools` no whole one.
        """
        check_whole("max_tools", max_tools, or_none=True)
        self._endpoint = service.connect(
            model, base_url=base_url, api_key=api_key, headers=headers, **settings
        )
        self.id = self._endpoint.provider
        self.native_search = native_search
        self._model = model
        self._is_own = service.is_own(self._endpoint)
        self._service = service
        self._max_tools = max_tools or (service.max_tools if self._is_own else None)
        self._options = dict(options or {})

    @property
    def missing_key(self) -> str:
        """The environment variable for a key that requests lack; empty for servers that may want none."""
        lacks_key = self._is_own and not self._endpoint.sends(self._service.key_header)
        return self._service.key_variable if lacks_key else ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def body(self, request: ChatRequest, *, stream: bool = False) -> JsonObject:
        """The request body that goes out: what the request says, then the options of model and request.

        An option of None takes the field out.

        Raises:
            ChatRequestError: the provider would refuse it; names every problem.
        """
        fields = {**self._write(request, stream=stream), **self._options, **request.options}
        body = {key: value for key, value in fields.items() if value is not None}
        validate(self.form, body, provider=self.id, max_tools=self._max_tools)
        return body

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """One round.

        Raises:
            ChatRequestError: the provider would refuse the request; nothing was sent.
            ChatModelError: it refused, failed, or stayed busy through all attempts.
        """
        answer = await self._endpoint.post(self.body(request))
        return self._response(answer, request)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """One round as it arrives: text deltas, then one `RoundFinished` with what `complete` would answer.

        A failure is tried again only as long as no text has been handed out.

        Raises:
            ChatRequestError, ChatModelError: as `complete`; the latter also in the middle of the stream.
        """
        body = self.body(request, stream=True)
        failures, shown = 0, False
        while True:
            assembler, pieces = self._assembler(), TextPieces()
            try:
                async with aclosing(self._endpoint.stream(body)) as events:
                    async for event in events:
                        text = pieces.add(self._piece(assembler, event))
                        if text:
                            shown = True
                            yield TextDelta(text)
                answer = self._whole(assembler)
                if answer is None:
                    raise ModelUnreachableError(self.id, "the stream broke off in the middle of the answer")
                break
            except ChatModelError as exc:
                if shown:
                    raise
                failures += 1
                await self._endpoint.wait_or_raise(exc, failures)
        rest = pieces.rest()
        if rest:
            yield TextDelta(rest)
        yield RoundFinished(self._response(answer, request))

    def _piece(self, assembler: Assembler, event: JsonObject) -> str:
        try:
            text: object = assembler.add(event)
            if isinstance(text, str):
                return text
            problem = f"has an event with {type(text).__name__} for text"
        except _UNREADABLE as exc:
            problem = f"has an event that is not in the expected form: {exc!r}"
        raise self._endpoint.malformed(problem)

    def _whole(self, assembler: Assembler) -> JsonObject | None:
        try:
            return assembler.answer()
        except _UNREADABLE as exc:
            problem = f"has events that do not go together: {exc!r}"
        raise self._endpoint.malformed(problem)

    def _response(self, answer: JsonObject, request: ChatRequest) -> ChatResponse:
        try:
            response = self._read(answer, request)
        except _UNREADABLE as exc:
            # The error itself may show what the answer holds, secrets too.
            problem = f"is not in the expected form: {exc!r}"
            response = None
        if response is None:
            raise self._endpoint.malformed(problem)
        message = with_unique_ids(response.message, request.messages)
        return replace(response, message=message)

    @abstractmethod
    def _write(self, request: ChatRequest, *, stream: bool) -> JsonObject:
        """The request in the provider's form."""

    @abstractmethod
    def _assembler(self) -> Assembler:
        """A new one, for one stream."""

    @abstractmethod
    def _read(self, answer: JsonObject, request: ChatRequest) -> ChatResponse:
        """The answer in our form."""
