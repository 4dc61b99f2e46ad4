"""Requests built from any arguments that fit, read back by parsers that know nothing of this package."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="fastapi is not installed; it is one of the dev extra")

from fastapi import Cookie, FastAPI, File, Form, Header, Path, Query, Request, Response
from pydantic import BaseModel

from tests.sources.openapi.documents import Recorder, call, document, only_tool, operation, parameter
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import JsonObject

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
WORD = st.text("abcXYZ012_ .,;:&=+%/?#|ä€'\"\\", min_size=1, max_size=8)
INTEGER = st.integers(-(2**53), 2**53)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | INTEGER | NUMBER | TEXT,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXT, below, max_size=3),
    max_leaves=8,
)
PATH_WORD = WORD.filter(lambda word: word not in {".", ".."} and "/" not in word)
ASCII = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)
COOKIE = st.text("abcXYZ012-_.!#$&'()*+/:<=>?@[]^`{|}~", min_size=1, max_size=8)


class Node(BaseModel):
    text: str
    number: float | None = None
    flags: list[bool] = []
    below: list[Node] = []


app = FastAPI(title="Echo", servers=[{"url": "https://echo.test"}])


@app.post("/echo/{word}/{amount}")
async def echo(
    word: Annotated[str, Path()],
    amount: Annotated[int, Path()],
    node: Node,
    *,
    query: Annotated[str, Query()] = "",
    many: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    real: Annotated[float, Query()] = 0.0,
    flag: Annotated[bool, Query()] = False,
    x_text: Annotated[str, Header()] = "",
    crumb: Annotated[str, Cookie()] = "",
) -> dict[str, Any]:
    told = {"word": word, "amount": amount, "query": query, "many": many, "real": real, "flag": flag}
    return {**told, "x-text": x_text, "crumb": crumb, **node.model_dump()}


@app.post("/form")
async def form(text: Annotated[str, Form()], many: Annotated[list[str], Form()]) -> dict[str, Any]:
    return {"text": text, "many": many}


@app.post("/multipart")
async def multipart(
    text: Annotated[str, Form()], number: Annotated[int, Form()], files: Annotated[list[bytes], File()]
) -> dict[str, Any]:
    return {"text": text, "number": number, "files": [base64.b64encode(each).decode() for each in files]}


@app.post("/raw")
async def raw(request: Request) -> Response:
    return Response(await request.body(), media_type="application/json")


TOOLS = {
    tool.meta["openapi"]["path"].split("/")[1]: tool
    for tool in OpenApiSource(
        app.openapi(), transport=httpx.ASGITransport(app), max_result_bytes=1 << 20
    ).list_tools()
}
NODES = st.recursive(
    st.fixed_dictionaries(
        {"text": TEXT}, optional={"number": NUMBER | st.none(), "flags": st.lists(st.booleans(), max_size=3)}
    ),
    lambda below: st.fixed_dictionaries({"text": TEXT, "below": st.lists(below, max_size=2)}),
    max_leaves=4,
)


@settings(max_examples=20, deadline=None)
@given(
    st.fixed_dictionaries(
        {"word": PATH_WORD, "amount": INTEGER},
        optional={
            "query": TEXT,
            "many": st.lists(TEXT, max_size=4),
            "real": NUMBER,
            "flag": st.booleans(),
            "x-text": ASCII,
            "crumb": COOKIE,
        },
    ),
    NODES,
)
def test_a_fastapi_app_reads_the_arguments_that_were_given(others: JsonObject, node: JsonObject) -> None:
    result = call(TOOLS["echo"], {**others, **node})
    assert not result.is_error, result
    defaults = {"query": "", "many": [], "real": 0.0, "flag": False, "x-text": "", "crumb": ""}
    assert result.structured == {**defaults, **others, **Node(**node).model_dump()}


@settings(max_examples=20, deadline=None)
@given(TEXT.filter(bool), st.lists(TEXT, min_size=1, max_size=4))
def test_a_form_is_read_as_it_was_written(text: str, many: list[str]) -> None:
    result = call(TOOLS["form"], {"text": text, "many": many})
    assert result.structured == {"text": text, "many": many}


@settings(max_examples=20, deadline=None)
@given(TEXT.filter(bool), INTEGER, st.lists(st.binary(max_size=40), min_size=1, max_size=3))
def test_a_multipart_form_is_read_as_it_was_written(text: str, number: int, files: list[bytes]) -> None:
    encoded = [base64.b64encode(each).decode() for each in files]
    result = call(TOOLS["multipart"], {"text": text, "number": number, "files": encoded})
    assert result.structured == {"text": text, "number": number, "files": encoded}


@settings(max_examples=20, deadline=None)
@given(JSON)
def test_any_json_arrives_as_it_is(value: Any) -> None:
    source = document({"/raw": {"post": operation(body={})}}, servers=[{"url": "https://echo.test"}])
    result = call(only_tool(source, httpx.ASGITransport(app)), {"body": value})
    assert result.structured == value


VALUES = st.lists(WORD, min_size=1, max_size=4) | st.dictionaries(WORD, WORD, min_size=1, max_size=4)
STYLES = [
    ("path", "simple"),
    ("path", "label"),
    ("path", "matrix"),
    ("query", "form"),
    ("query", "spaceDelimited"),
    ("query", "pipeDelimited"),
    ("query", "deepObject"),
]


@pytest.mark.parametrize("explode", [True, False])
@pytest.mark.parametrize(("place", "style"), STYLES)
@settings(max_examples=15, deadline=None)
@given(value=VALUES)
def test_lists_and_objects_are_read_back_by_the_rules_of_their_style(
    place: str, style: str, explode: bool, value: Any
) -> None:
    if style == "deepObject":
        if not isinstance(value, dict):
            return
        value = {key.replace("]", ""): member for key, member in value.items()}
    splitting = {("spaceDelimited", False): " ", ("pipeDelimited", False): "|", ("label", True): "."}.get(
        (style, explode), ""
    )
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    if splitting and any(splitting in part for part in parts):
        return
    if place == "path" and value in (["."], [".."]):
        return
    path = "/x/{p}" if place == "path" else "/x"
    recorder = Recorder()
    call(
        only_tool(
            document({path: {"get": operation(parameter("p", place, {}, style=style, explode=explode))}}),
            recorder,
        ),
        {"p": value},
    )
    url = recorder.last.url
    text = url.raw_path.decode().removeprefix("/v1/x/") if place == "path" else url.query.decode()
    assert read(text, style, explode=explode, is_object=isinstance(value, dict)) == value


def read(text: str, style: str, *, explode: bool, is_object: bool) -> Any:
    """The list or object that `text` is by the rules of the specification, without code of the package."""
    if style == "deepObject":
        return {key[2:-1]: value for key, value in parse_qsl(text, keep_blank_values=True)}
    separator = {"label": "." if explode else ",", "matrix": ";" if explode else ","}.get(style, ",")
    if style in {"spaceDelimited", "pipeDelimited", "form"}:
        separator = "&" if explode else {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(style, ",")
    # "label" and "matrix" have a mark in front; all but exploded ones of "simple" and "label" have the name.
    text = text[1:] if style in {"label", "matrix"} else text
    named = style not in {"simple", "label"}
    if not explode and named:
        text = text.partition("=")[2]
    parts = text.split(separator)
    if explode and is_object:
        return {unquote(key): unquote(value) for key, _, value in (part.partition("=") for part in parts)}
    if explode and named:
        parts = [part.partition("=")[2] for part in parts]
    words = [unquote(part) for part in parts]
    return dict(zip(words[::2], words[1::2], strict=True)) if is_object else words


@settings(max_examples=10, deadline=None)
@given(st.dictionaries(WORD, JSON, max_size=4))
def test_a_request_is_the_same_for_the_same_arguments(value: JsonObject) -> None:
    recorder = Recorder()
    tool = only_tool(document({"/x": {"post": operation(body={"type": "object"})}}), recorder)

    async def twice() -> None:
        assert tool.call is not None
        for _ in range(2):
            await tool.call({"body": value}, None)  # type: ignore[arg-type]

    asyncio.run(twice())
    first, second = recorder.requests
    assert (first.url, first.headers, first.content) == (second.url, second.headers, second.content)
    assert json.loads(first.content) == value
