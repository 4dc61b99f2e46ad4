"""The calls of the API as values: what to send, and how to read the answer. Nothing here does I/O."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote
from uuid import uuid4

from pydantic import BaseModel, TypeAdapter

from toolsearch.api.base import Form
from toolsearch.api.calls import CallBody, CallResult
from toolsearch.api.keys import KeyEntry, KeyList, MadeKey, NewKey
from toolsearch.api.lint import LintPage
from toolsearch.api.pins import PinList
from toolsearch.api.rounds import SessionPage, SessionRounds
from toolsearch.api.search import BatchAnswer, BatchQuery, SearchAnswer, SearchQuery
from toolsearch.api.sessions import (
    AnswerCalls,
    ForgetBody,
    HandledCalls,
    NewSession,
    ProviderForm,
    Receipt,
    RenderBody,
    SearchCall,
    SearchCallResult,
    SessionEntry,
    SessionTools,
    ToolNamesBody,
    Way,
)
from toolsearch.api.tools import (
    CatalogEntry,
    CatalogList,
    Definitions,
    SourceEntry,
    SourceList,
    TagList,
    ToolEntry,
    ToolPage,
    UploadReport,
)
from toolsearch.api.usage import FeedbackBody, FeedbackEntry, FeedbackPage, Outcome, UsageAnswer
from toolsearch.tools import JsonObject

T = TypeVar("T")

JSON_TYPE = "application/json"
LINES_TYPE = "application/x-ndjson"


@dataclass(frozen=True)
class ApiCall(Generic[T]):
    """One request of the API, whose answer is a `T`.

    Attributes:
        repeatable: Whether it may be sent again after a failure: it changes nothing, or has an
            idempotency key.
    """

    method: str
    path: str
    answer: type[T]
    body: bytes | None = None
    query: Mapping[str, str | float] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True

    def read(self, content: bytes) -> T:
        """The answer in the body of a response."""
        if self.answer is type(None):
            return None
        if self.answer is str:
            return cast("T", content.decode("utf-8", "replace"))
        return TypeAdapter(self.answer).validate_json(content)


def search(query: SearchQuery | str, options: Mapping[str, Any]) -> ApiCall[SearchAnswer]:
    asked = SearchQuery(queries=(query,), **options) if isinstance(query, str) else query
    return _post("/v1/search", SearchAnswer, asked, changes=False)


def search_batch(searches: Iterable[SearchQuery | str]) -> ApiCall[BatchAnswer]:
    return _post("/v1/search/batch", BatchAnswer, BatchQuery.of(*searches), changes=False)


def list_tools(
    *, limit: int, cursor: str | None, source: str | None, tag: str | None, text: str | None
) -> ApiCall[ToolPage]:
    query = _given(limit=limit, cursor=cursor, source=source, tag=tag, text=text)
    return ApiCall("GET", "/v1/tools", ToolPage, query=query)


def get_tool(name: str) -> ApiCall[ToolEntry]:
    return ApiCall("GET", f"/v1/tools/{_part(name)}", ToolEntry)


def put_tool(name: str, definition: JsonObject, *, if_match: str | None) -> ApiCall[ToolEntry]:
    return _write("PUT", f"/v1/tools/{_part(name)}", ToolEntry, _json(definition), if_match=if_match)


def patch_tool(name: str, patch: JsonObject, *, if_match: str | None) -> ApiCall[ToolEntry]:
    return _write("PATCH", f"/v1/tools/{_part(name)}", ToolEntry, _json(patch), if_match=if_match)


def delete_tool(name: str, *, if_match: str | None) -> ApiCall[None]:
    return _write("DELETE", f"/v1/tools/{_part(name)}", type(None), None, if_match=if_match)


def put_tools(
    definitions: Iterable[JsonObject], *, source: str, if_match: str | None
) -> ApiCall[UploadReport]:
    query = _given(source=source or None)
    path, lines = "/v1/tools/bulk", _lines(definitions)
    return _write("POST", path, UploadReport, lines, query=query, content_type=LINES_TYPE, if_match=if_match)


def put_source(
    source: str, definitions: Iterable[JsonObject], *, if_match: str | None
) -> ApiCall[UploadReport]:
    path, lines = f"/v1/sources/{_part(source)}", _lines(definitions)
    return _write("PUT", path, UploadReport, lines, content_type=LINES_TYPE, if_match=if_match)


def delete_source(source: str, *, if_match: str | None) -> ApiCall[None]:
    return _write("DELETE", f"/v1/sources/{_part(source)}", type(None), None, if_match=if_match)


def get_source(source: str) -> ApiCall[SourceEntry]:
    return ApiCall("GET", f"/v1/sources/{_part(source)}", SourceEntry)


def list_sources() -> ApiCall[SourceList]:
    return ApiCall("GET", "/v1/sources", SourceList)


def list_tags() -> ApiCall[TagList]:
    return ApiCall("GET", "/v1/tags", TagList)


def lint_catalog(
    catalog: str, *, limit: int, cursor: str | None, self_retrieval: bool, **filters: str | None
) -> ApiCall[LintPage]:
    query = _given(limit=limit, cursor=cursor, self_retrieval=self_retrieval, **filters)
    return ApiCall("GET", f"/v1/catalogs/{_part(catalog)}/lint", LintPage, query=query)


def list_catalogs() -> ApiCall[CatalogList]:
    return ApiCall("GET", "/v1/catalogs", CatalogList)


def get_catalog(catalog: str) -> ApiCall[CatalogEntry]:
    return ApiCall("GET", f"/v1/catalogs/{_part(catalog)}", CatalogEntry)


def get_definitions(catalog: str, form: Form) -> ApiCall[Definitions]:
    return ApiCall("GET", f"/v1/catalogs/{_part(catalog)}/tools", Definitions, query={"form": form})


def put_catalog(
    catalog: str, definitions: Iterable[JsonObject], *, if_match: str | None
) -> ApiCall[UploadReport]:
    path = f"/v1/catalogs/{_part(catalog)}/tools"
    lines = _lines(definitions)
    return _write("PUT", path, UploadReport, lines, content_type=LINES_TYPE, if_match=if_match)


def reload_catalog(catalog: str) -> ApiCall[CatalogEntry]:
    return _write("POST", f"/v1/catalogs/{_part(catalog)}/reload", CatalogEntry, None)


def list_sessions(*, limit: int, cursor: str | None) -> ApiCall[SessionPage]:
    return ApiCall("GET", "/v1/sessions", SessionPage, query=_given(limit=limit, cursor=cursor))


def session_rounds(session_id: str, *, limit: int) -> ApiCall[SessionRounds]:
    return ApiCall("GET", f"{_session(session_id)}/rounds", SessionRounds, query={"limit": limit})


def create_session(session_id: str | None) -> ApiCall[SessionEntry]:
    return _post("/v1/sessions", SessionEntry, NewSession(id=session_id))


def get_session(session_id: str) -> ApiCall[SessionEntry]:
    return ApiCall("GET", _session(session_id), SessionEntry)


def delete_session(session_id: str) -> ApiCall[None]:
    return _write("DELETE", _session(session_id), type(None), None)


def session_tools(session_id: str, form: Form, delivery: Way) -> ApiCall[SessionTools]:
    query = {"form": form, "delivery": delivery}
    return ApiCall("GET", f"{_session(session_id)}/tools", SessionTools, query=query)


def session_search(
    session_id: str, arguments: JsonObject, delivery: Way, form: ProviderForm | None, call_id: str
) -> ApiCall[SearchCallResult]:
    told = {} if form is None else {"form": form, "call_id": call_id}
    body = SearchCall.model_validate({"arguments": arguments, "delivery": delivery, **told})
    return _post(f"{_session(session_id)}/search", SearchCallResult, body)


def handle_calls(
    session_id: str, answer_calls: Iterable[JsonObject], form: ProviderForm, delivery: Way, own: Iterable[str]
) -> ApiCall[HandledCalls]:
    body = AnswerCalls(form=form, calls=tuple(answer_calls), delivery=delivery, own=tuple(own))
    return _post(f"{_session(session_id)}/handle", HandledCalls, body)


def load_tools(session_id: str, names: Iterable[str]) -> ApiCall[SessionEntry]:
    return _post(f"{_session(session_id)}/load", SessionEntry, ToolNamesBody(names=tuple(names)))


def forget_tools(session_id: str, names: Collection[str] | None) -> ApiCall[SessionEntry]:
    body = ForgetBody(names=None if names is None else tuple(names))
    return _post(f"{_session(session_id)}/forget", SessionEntry, body)


def session_receipt(session_id: str, delivery: Way) -> ApiCall[Receipt]:
    return ApiCall("GET", f"{_session(session_id)}/receipt", Receipt, query={"delivery": delivery})


def render(names: Iterable[str], form: Form) -> ApiCall[Definitions]:
    return _post("/v1/render", Definitions, RenderBody(names=tuple(names), form=form), changes=False)


def call_tool(
    name: str, arguments: JsonObject, *, session_id: str | None, call_id: str
) -> ApiCall[CallResult]:
    body = CallBody(name=name, arguments=arguments, session_id=session_id, call_id=call_id)
    # What was begun cannot be taken back, so it is never sent twice.
    return ApiCall("POST", "/v1/calls", CallResult, _model(body), headers=_type(JSON_TYPE), repeatable=False)


def give_feedback(
    tool: str, outcome: Outcome, *, query: str, session_id: str | None
) -> ApiCall[FeedbackEntry]:
    body = FeedbackBody(tool=tool, outcome=outcome, query=query, session_id=session_id)
    return _post("/v1/feedback", FeedbackEntry, body)


def list_feedback(*, limit: int, cursor: str | None) -> ApiCall[FeedbackPage]:
    return ApiCall("GET", "/v1/feedback", FeedbackPage, query=_given(limit=limit, cursor=cursor))


def delete_feedback(tenant: str | None) -> ApiCall[None]:
    return _write("DELETE", "/v1/feedback", type(None), None, query=_given(tenant=tenant))


def get_pins(*, days: int, rounds: float | None, search_tokens: float | None, limit: int) -> ApiCall[PinList]:
    query = _given(days=days, rounds=rounds, search_tokens=search_tokens, limit=limit)
    return ApiCall("GET", "/v1/usage/pins", PinList, query=query)


def get_usage(*, since: str | None, until: str | None) -> ApiCall[UsageAnswer]:
    return ApiCall("GET", "/v1/usage", UsageAnswer, query=_given(since=since, until=until))


def list_keys() -> ApiCall[KeyList]:
    return ApiCall("GET", "/v1/keys", KeyList)


def create_key(new: NewKey) -> ApiCall[MadeKey]:
    return ApiCall("POST", "/v1/keys", MadeKey, _model(new), headers=_type(JSON_TYPE), repeatable=False)


def delete_key(key: KeyEntry | str) -> ApiCall[None]:
    key_id = key if isinstance(key, str) else key.id
    return ApiCall("DELETE", f"/v1/keys/{_part(key_id)}", type(None), repeatable=False)


def metrics() -> ApiCall[str]:
    return ApiCall("GET", "/metrics", str)


def alive() -> ApiCall[JsonObject]:
    return ApiCall("GET", "/healthz", JsonObject, repeatable=False)


def ready() -> ApiCall[JsonObject]:
    return ApiCall("GET", "/readyz", JsonObject, repeatable=False)


def _post(path: str, answer: type[T], body: BaseModel, *, changes: bool = True) -> ApiCall[T]:
    if changes:
        return _write("POST", path, answer, _model(body))
    return ApiCall("POST", path, answer, _model(body), headers=_type(JSON_TYPE))


def _write(
    method: str,
    path: str,
    answer: type[T],
    body: bytes | None,
    *,
    query: Mapping[str, str | float] | None = None,
    content_type: str = JSON_TYPE,
    if_match: str | None = None,
) -> ApiCall[T]:
    headers = {"Idempotency-Key": uuid4().hex}
    if body is not None:
        headers |= _type(content_type)
    if if_match is not None:
        headers["If-Match"] = f'"{if_match}"'
    return ApiCall(method, path, answer, body, query or {}, headers)


def _model(body: BaseModel) -> bytes:
    return body.model_dump_json(exclude_unset=True).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lines(definitions: Iterable[JsonObject]) -> bytes:
    """JSON Lines; for no definition one that says so, as the service takes an empty body for a mistake."""
    return b"".join(_json(definition) + b"\n" for definition in definitions) or b"[]\n"


def _type(content_type: str) -> dict[str, str]:
    return {"Content-Type": content_type}


def _given(**query: str | float | None) -> dict[str, str | float]:
    return {name: value for name, value in query.items() if value is not None}


def _session(session_id: str) -> str:
    return f"/v1/sessions/{_part(session_id)}"


def _part(name: str) -> str:
    quoted = quote(name, safe="")
    # Else it would be taken for a step to another path, RFC 3986, section 5.2.4.
    return quoted.replace(".", "%2E") if quoted in {".", ".."} else quoted
