"""`StructuredOutputAdvisor`: asks again until the answer is JSON of the form that is wanted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

from jsonschema.validators import validator_for
from pydantic import TypeAdapter, ValidationError
from referencing import Registry

from toolsearch.advisors.base import STRUCTURED_OUTPUT, HistoryKeeper
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.paused import RESUMPTION, resumption_of
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RunFinished, Usage
from toolsearch.checks import check_whole
from toolsearch.exceptions import AnswerFormatError, SchemaError
from toolsearch.functions.arguments import read_json
from toolsearch.messages import Message, SystemMessage, UserMessage
from toolsearch.schema.keywords import subschemas
from toolsearch.schema.patterns import bounded_validator, find_errors
from toolsearch.schema.refs import localise, target_of, unending_ref
from toolsearch.tools import JsonObject

_FENCE = "```"
_MAX_PROBLEMS = 5


class _FormError(Exception):
    """What is wrong with an answer."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems[:_MAX_PROBLEMS])


class StructuredOutputAdvisor:
    """Runs the rest of the chain until its answer is valid JSON, telling the model each time what was wrong.

    An example of an advisor that loops: it stands outside the tool-calling loop, calls ``chain.next`` again,
    and sums up what came of it. The value is the response's ``metadata["structured"]``. A run that ends
    without an answer (at a limit, paused, returned directly) is handed on as it is. When streaming, the text
    of refused answers has been seen by then.
    """

    def __init__(
        self,
        form: type[Any] | TypeAdapter[Any] | JsonObject,
        *,
        attempts: int = 3,
        name: str = "structured_output",
        order: int = STRUCTURED_OUTPUT,
    ) -> None:
        """Asks for nothing yet.

        Args:
            form: A pydantic model or any other type that pydantic knows, whose instances come out; or a JSON
                Schema, for plain JSON values. What the schema refers to must be in it: nothing is fetched.
            attempts: Answers that are asked for at most.

        Raises:
            TypeError: `attempts` is no whole number.
            ValueError: a schema that refers to something outside of it, or nowhere, or `attempts` below 1.
            jsonschema.SchemaError: a schema that is none.
        """
        check_whole("attempts", attempts)
        self.name = name
        self.order = order
        self._attempts = attempts
        self._adapter: TypeAdapter[Any] | None = None
        if isinstance(form, dict):
            self._schema: JsonObject = form
        else:
            self._adapter = form if isinstance(form, TypeAdapter) else TypeAdapter(form)
            self._schema = self._adapter.json_schema()
        kind = validator_for(self._schema)
        kind.check_schema(self._schema)
        self._validator = bounded_validator(kind, _closed(self._schema), registry=Registry())

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """Events of every attempt; last the valid answer, with usage summed.

        Raises:
            AnswerFormatError: no attempt was valid.
        """
        run = _Run(self._asked(request), remembered=any(isinstance(a, HistoryKeeper) for a in chain.advisors))
        problems: tuple[str, ...] = ()
        for attempt in range(1, self._attempts + 1):
            async with closing(chain.next(run.request)) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        run.add(event.response)
                    else:
                        yield event
            if run.response.finish_reason not in {"stop", "length"}:
                yield RunFinished(run.summed())
                return
            try:
                value = self._read(run.response.text)
            except _FormError as wrong:
                problems = wrong.problems
                run.object_to(problems)
                continue
            yield RunFinished(run.summed(structured=value, attempts=attempt))
            return
        raise AnswerFormatError(run.response.text, problems, attempts=self._attempts)

    def _asked(self, request: ChatRequest) -> ChatRequest:
        if resumption_of(request) is not None:
            return request
        schema = json.dumps(self._schema, ensure_ascii=False)
        system = SystemMessage(
            text=f"Give your final answer as JSON alone, valid by this JSON Schema: {schema}"
        )
        at = sum(isinstance(message, SystemMessage) for message in request.messages)
        return replace(request, messages=(*request.messages[:at], system, *request.messages[at:]))

    def _read(self, text: str) -> Any:
        written = _unfenced(text)
        if self._adapter is not None:
            return _validated(self._adapter, written)
        try:
            value = read_json(written)
        except (ValueError, RecursionError) as exc:
            raise _FormError([f"it is not JSON ({exc})"]) from exc
        found = [f"{error.json_path}: {error.message}" for error in find_errors(self._validator, value)]
        if found:
            raise _FormError(found)
        return value


def _closed(schema: JsonObject) -> JsonObject:
    """The schema with every reference as a pointer into itself.

    Raises:
        ValueError: a reference that leads elsewhere, nowhere, or back to itself.
    """
    try:
        whole = localise("", schema)
        nowhere = next((ref for ref in _refs(whole) if target_of(whole, ref) is None), None)
        if nowhere is not None:
            raise ValueError(f"form cannot be used: $ref {nowhere!r} leads nowhere.")
        unending = unending_ref(whole)
    except SchemaError as exc:
        raise ValueError(f"form cannot be used: {exc.reason.partition(': ')[2]}") from exc
    if unending is not None:
        raise ValueError(f"form cannot be used: $ref {unending!r} leads back to itself.")
    return whole


def _refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"]
        for _, part in subschemas(schema):
            yield from _refs(part)


def _unfenced(text: str) -> str:
    """What stands in a fenced block of code, where the whole text is one; else the text."""
    inner = text.strip()
    if len(inner) < 2 * len(_FENCE) or not (inner.startswith(_FENCE) and inner.endswith(_FENCE)):
        return text
    language, line_end, block = inner.removeprefix(_FENCE).removesuffix(_FENCE).partition("\n")
    return block if line_end and language.strip() in {"", "json"} else text


def _validated(adapter: TypeAdapter[Any], text: str) -> Any:
    try:
        return adapter.validate_json(text)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_context=False, include_input=False)
        found = [f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}" for each in errors]
        raise _FormError(found) from exc


class _Run:
    """The attempts so far, summed up."""

    def __init__(self, request: ChatRequest, *, remembered: bool) -> None:
        self.request = request
        self.response: ChatResponse
        self._remembered = remembered
        self._usage = Usage()
        self._rounds = 0
        self._messages: tuple[Message, ...] = ()

    def add(self, response: ChatResponse) -> None:
        self.response = response
        self._usage += response.usage
        self._rounds += response.metadata.get("rounds", 1)
        self._messages += response.metadata.get("messages", (response.message,))

    def object_to(self, problems: tuple[str, ...]) -> None:
        """Makes the request of the next attempt."""
        added = self.response.metadata.get("messages", (self.response.message,))
        resumed = resumption_of(self.request)
        if resumed is not None:
            # The request of a resumed run has the first of them already.
            added = added[len(resumed.paused.added) :]
        correction = UserMessage.of(
            f"This answer cannot be used: {'; '.join(problems)}. Give the whole answer again, as JSON alone."
        )
        self._messages += (correction,)
        before = self.request.messages
        if self._remembered:
            before = tuple(message for message in before if isinstance(message, SystemMessage))
            added = ()
        context = {key: value for key, value in self.request.context.items() if key != RESUMPTION}
        self.request = replace(self.request, messages=(*before, *added, correction), context=context)

    def summed(self, **more: Any) -> ChatResponse:
        metadata = {**self.response.metadata, "messages": self._messages, "rounds": self._rounds, **more}
        return replace(self.response, usage=self._usage, metadata=metadata)
