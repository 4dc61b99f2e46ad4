"""Every way in which the official clients can be asked for an answer."""

from __future__ import annotations

import inspect
from typing import Any

from tests.adapters.callers import put_together

WAYS = (
    *("create", "create streamed", "parse", "stream"),
    *("raw create", "raw create streamed", "raw parse"),
    *("streaming create", "streaming create streamed", "streaming parse"),
)
_LACKING = {
    ("openai_responses", ""): {"streaming parse"},
    ("openai_responses", "beta."): {"parse", "stream", "raw parse", "streaming parse"},
    ("anthropic", ""): {"raw parse", "streaming parse"},
    ("anthropic", "beta."): {"streaming parse"},
}
EVERY_WAY = tuple(
    (form, prefix, way)
    for form in ("openai_chat", "openai_responses", "anthropic")
    for prefix in ("", "beta.")
    for way in WAYS
    if way not in _LACKING.get((form, prefix), ())
)
RESOURCES = {"openai_chat": "chat.completions", "openai_responses": "responses", "anthropic": "messages"}


def resource_of(client: Any, path: str) -> Any:
    for name in path.split("."):
        client = getattr(client, name)
    return client


async def answer(client: Any, form: str, prefix: str, way: str, arguments: dict[str, Any]) -> Any:
    """The whole answer to a request that is made in this way."""
    resource = resource_of(client, prefix + RESOURCES[form])
    name = "parse" if "parse" in way else "create"
    options: dict[str, Any] = {"stream": True} if way.endswith("streamed") else {}
    if options and form == "openai_chat":
        options["stream_options"] = {"include_usage": True}
    if way == "stream":
        if form == "openai_chat":
            arguments = {**arguments, "stream_options": {"include_usage": True}}
        return await _final(resource.stream(**arguments))
    if way.startswith("streaming"):
        manager = getattr(resource.with_streaming_response, name)(**arguments, **options)
        if hasattr(manager, "__aenter__"):
            async with manager as response:
                return await _whole(form, await now(response.parse()))
        with manager as response:
            return await _whole(form, response.parse())
    if way.startswith("raw"):
        response = await now(getattr(resource.with_raw_response, name)(**arguments, **options))
        return await _whole(form, await now(response.parse()))
    return await _whole(form, await now(getattr(resource, name)(**arguments, **options)))


async def now(value: Any) -> Any:
    """The value, awaited where the client is awaited."""
    return await value if inspect.isawaitable(value) else value


async def _whole(form: str, value: Any) -> Any:
    if hasattr(value, "__aiter__"):
        return put_together(form, [chunk async for chunk in value])
    return put_together(form, value) if hasattr(value, "__next__") else value


async def _final(manager: Any) -> Any:
    if hasattr(manager, "__aenter__"):
        async with manager as stream:
            return await _last(stream)
    with manager as stream:
        return await _last(stream)


async def _last(stream: Any) -> Any:
    for name in ("get_final_completion", "get_final_response", "get_final_message"):
        if hasattr(stream, name):
            return await now(getattr(stream, name)())
    raise AssertionError(f"{stream!r} has no end")
