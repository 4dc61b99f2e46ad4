"""`Asked`: one request of a client, sent as often and with such bodies as its search rounds need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from toolsearch.adapters.api import Arguments
from toolsearch.adapters.caller import caller_of
from toolsearch.adapters.overlay import Overlay
from toolsearch.adapters.routes import Route, namespaces, route_of, solid, tokens_of, tools_within
from toolsearch.adapters.searching import Searching
from toolsearch.adapters.turn import Turn
from toolsearch.exceptions import UnsearchedToolsError

_OF_THE_BYTES = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_IDEMPOTENCY = "idempotency-key"
_READERS = ("json", "read", "text", "iter_bytes", "iter_text", "iter_lines", "stream_to_file")


@dataclass(frozen=True)
class Asked:
    """What a client's ``request`` was called with.

    Attributes:
        send: The client's own ``request``.
        options: Its method, path, body and headers.
    """

    client: Any
    send: Callable[..., Any]
    cast_to: Any
    options: Any
    stream: bool
    stream_cls: Any

    @cached_property
    def route(self) -> Route | None:
        return route_of(self.options.method, self.options.url)

    @cached_property
    def body(self) -> Any:
        """The whole body, to be read more than once; a mapping, or what else somebody wants to send."""
        body, more = self.options.json_data, self.options.extra_json
        return solid({**(body or {}), **more} if isinstance(more, Mapping) else body)

    def as_it_is(self) -> Any:
        """The client's answer to the very request."""
        return self.send(self.cast_to, self.options, stream=self.stream, stream_cls=self.stream_cls)

    def with_body(self, body: Arguments) -> Asked:
        return replace(self, options=self.options.model_copy(update={"json_data": body, "extra_json": None}))

    def round(self, turn: Turn) -> Any:
        """The client's answer in the next round of `turn`, before the client makes of it what it is to be."""
        options = self.with_body(turn.request()).options
        never = type(options).model_fields["post_parser"].default
        update: dict[str, Any] = {"post_parser": never}
        if turn.n_rounds:
            # Another body under the same key would get the answer to the first one, or be refused.
            update |= _with_other_key(options, turn.n_rounds)
        options = options.model_copy(update=update)
        return self.send(self.cast_to, options, stream=self.stream, stream_cls=self.stream_cls)

    def given_back(self, response: Any, last: Any, answer: Any) -> Any:
        """The caller's answer: `answer`, in the form that the caller asked for.

        Args:
            response: What came in the last round, and `last`, how it reads.
            answer: What the caller is to read instead.
        """
        if is_raw(response):
            http = response.http_response if answer is last else _written(response.http_response, answer)
            return type(response)(
                raw=http,
                client=self.client,
                cast_to=self.cast_to,
                stream=False,
                stream_cls=None,
                options=self.options,
                retries_taken=response.retries_taken,
            )
        if not callable(self.options.post_parser):
            return answer
        parsed = self.options.post_parser(answer)
        parsed._request_id = answer._request_id
        return parsed


def opened(searching: Searching, asked: Asked) -> tuple[Turn | None, Asked]:
    """The turn of a request, or None and the request as it goes out. It may have to build an index.

    Raises:
        UnsearchedToolsError: the request has many tools where none are searched.
    """
    body = asked.body
    if not isinstance(body, Mapping):
        return None, asked
    request = dict(body)
    caller = caller_of(request)
    if asked.route is None:
        _refuse_many(searching, asked, request)
    else:
        tools = request.get("tools")
        listed = tools if isinstance(tools, list) else []
        _refuse_many(searching, asked, {**request, "tools": namespaces(listed)})
        turn = searching.open(asked.route.api, {**request, "tools": listed}, caller)
        if turn is not None:
            if not hasattr(asked.cast_to, "to_dict"):
                raise UnsearchedToolsError(asked.options.url, "its answer is read as no model of the client")
            return turn, asked
    return None, asked.with_body(request)


def is_raw(response: Any) -> bool:
    """Whether the caller asked for the HTTP response, which is read by its ``parse``."""
    return hasattr(response, "http_response")


def raw_stream(response: Any, stream: Any, parse: Callable[..., Any]) -> Any:
    """The raw response of a stream whose ``parse`` gives `stream`. Its bytes, of one round, are refused."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsearchedToolsError("the bytes of a stream", "they are those of one round; read parse()")

    refused = {name: refuse for name in _READERS if callable(getattr(type(response), name, None))}
    return Overlay(response, **refused, parse=parse, close=stream.close)


def _refuse_many(searching: Searching, asked: Asked, body: Any) -> None:
    tools = list(tools_within(body))
    if tools and tokens_of(tools) >= searching.lists.whole_below_tokens:
        raise UnsearchedToolsError(asked.options.url, "no tools are searched there")


def _with_other_key(options: Any, n_rounds: int) -> dict[str, Any]:
    update: dict[str, Any] = {}
    if options.idempotency_key is not None:
        update["idempotency_key"] = f"{options.idempotency_key}-{n_rounds}"
    if isinstance(options.headers, Mapping):
        update["headers"] = {
            name: f"{value}-{n_rounds}" if name.lower() == _IDEMPOTENCY else value
            for name, value in options.headers.items()
        }
    return update


def _written(http: Any, answer: Any) -> Any:
    """An HTTP response like `http` that says `answer`."""
    headers = [each for each in http.headers.multi_items() if each[0].lower() not in _OF_THE_BYTES]
    told = type(http)(
        http.status_code,
        headers=headers,
        content=answer.to_json(indent=None).encode(),
        request=http.request,
        extensions=http.extensions,
    )
    told.elapsed = http.elapsed
    return told
