"""Documents that FastAPI makes of its apps, and calls that reach those apps."""

from __future__ import annotations

import base64
from enum import StrEnum
from typing import Annotated

import httpx
import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed; it is one of the dev extra")

from fastapi import Body, Cookie, Depends, FastAPI, File, Form, Header, HTTPException, Query, UploadFile
from fastapi.security import (
    APIKeyCookie,
    APIKeyHeader,
    APIKeyQuery,
    HTTPAuthorizationCredentials,
    HTTPBasic,
    HTTPBasicCredentials,
    HTTPBearer,
)
from pydantic import BaseModel, Field

from tests.sources.openapi.documents import call, text_of
from toolsearch.exceptions import ToolArgumentsError
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import Tool


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Part(BaseModel):
    name: str
    amount: int = Field(default=1, ge=1)
    parts: list[Part] = []


class Order(BaseModel):
    customer: str
    size: Size | None = None
    parts: list[Part]


app = FastAPI(title="Shop API", servers=[{"url": "https://shop.example.com/api"}])


@app.post("/orders/{order_id}", tags=["orders"])
async def put_order(
    order_id: int,
    order: Order,
    *,
    dry_run: bool = False,
    labels: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    x_trace: Annotated[str | None, Header()] = None,
    visit: Annotated[str | None, Cookie()] = None,
) -> dict[str, object]:
    """Place or change an order."""
    return {
        "order_id": order_id,
        "order": order.model_dump(mode="json"),
        "dry_run": dry_run,
        "labels": labels,
        "x_trace": x_trace,
        "visit": visit,
    }


@app.get("/orders/{order_id}")
async def get_order(order_id: int) -> dict[str, int]:
    raise HTTPException(404, detail=f"no order {order_id}")


@app.post("/login")
async def login(user: Annotated[str, Form()], roles: Annotated[list[str], Form()]) -> dict[str, object]:
    return {"user": user, "roles": roles}


@app.post("/upload")
async def upload(
    picture: UploadFile, others: Annotated[list[UploadFile], File()], note: Annotated[str, Form()] = ""
) -> dict[str, object]:
    contents = [await each.read() for each in (picture, *others)]
    return {"note": note, "contents": [base64.b64encode(each).decode() for each in contents]}


@app.put("/several")
async def several(part: Part, order: Order, urgent: Annotated[bool, Body()]) -> dict[str, object]:
    return {"part": part.name, "customer": order.customer, "urgent": urgent}


@app.get("/keys/header")
async def by_header(key: Annotated[str, Depends(APIKeyHeader(name="X-Key", scheme_name="shop_key"))]) -> str:
    return f"header {key == 's3cr3t-key-1'}"


@app.get("/keys/query")
async def by_query(key: Annotated[str, Depends(APIKeyQuery(name="key", scheme_name="query_key"))]) -> str:
    return f"query {key == 's3cr3t key&2'}"


@app.get("/keys/cookie")
async def by_cookie(key: Annotated[str, Depends(APIKeyCookie(name="sid", scheme_name="cookie_key"))]) -> str:
    return f"cookie {key == 's3cr3t-key-3'}"


@app.get("/keys/bearer")
async def by_bearer(
    key: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer(scheme_name="token"))],
) -> str:
    return f"bearer {key.credentials == 's3cr3t-token'}"


@app.get("/keys/basic")
async def by_basic(given: Annotated[HTTPBasicCredentials, Depends(HTTPBasic(scheme_name="login"))]) -> str:
    return f"basic {(given.username, given.password) == ('ann', 's3cr3t:pass')}"


ENVIRONMENT = {
    "SHOP_SHOP_KEY": "s3cr3t-key-1",
    "OTHER_NAME": "s3cr3t key&2",
    "SHOP_COOKIE_KEY": "s3cr3t-key-3",
    "SHOP_TOKEN": "s3cr3t-token",
    "SHOP_LOGIN": "ann:s3cr3t:pass",
}


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    source = OpenApiSource(
        app.openapi(),
        transport=httpx.ASGITransport(app, root_path="/api"),
        environment=ENVIRONMENT,
        credentials={"query_key": "OTHER_NAME"},
    )
    assert source.issues == ()
    assert source.name == "shop"
    return {f"{last_of(tool)}{tool.meta['openapi']['method']}": tool for tool in source.list_tools()}


def last_of(tool: Tool) -> str:
    """The last segment of the tool's path."""
    return str(tool.meta["openapi"]["path"]).rpartition("/")[2]


def test_every_kind_of_parameter_reaches_the_app_as_it_was_meant(tools: dict[str, Tool]) -> None:
    tool = tools["{order_id}POST"]
    assert tool.tags == ("orders",)
    assert (tool.read_only, tool.destructive) == (False, None)
    order = {"customer": "Ann & Bö", "size": "large", "parts": [{"name": "a", "parts": [{"name": "b"}]}]}
    others = {"dry_run": True, "labels": ["x y", "a&b"], "x-trace": "t", "visit": "v"}
    result = call(tool, {"order_id": 7, **others, **order})
    parts = [{"name": "a", "amount": 1, "parts": [{"name": "b", "amount": 1, "parts": []}]}]
    assert result.structured == {
        "order_id": 7,
        "order": {**order, "parts": parts},
        "dry_run": True,
        "labels": ["x y", "a&b"],
        "x_trace": "t",
        "visit": "v",
    }


def test_arguments_are_checked_before_anything_is_sent(tools: dict[str, Tool]) -> None:
    with pytest.raises(ToolArgumentsError, match=r"'order_id'.*integer"):
        call(tools["{order_id}POST"], {"order_id": "seven", "customer": "Ann", "parts": []})
    with pytest.raises(ToolArgumentsError, match="0 is less than the minimum"):
        call(tools["{order_id}POST"], {"order_id": 7, "customer": "A", "parts": [{"name": "a", "amount": 0}]})


def test_a_refusal_of_the_service_is_an_error_result_with_its_words(tools: dict[str, Tool]) -> None:
    result = call(tools["{order_id}GET"], {"order_id": 9})
    assert result.is_error
    assert text_of(result) == (
        'GET https://shop.example.com/api/orders/{order_id} answered 404 Not Found.\n{"detail":"no order 9"}'
    )


def test_forms_are_sent_as_forms(tools: dict[str, Tool]) -> None:
    result = call(tools["loginPOST"], {"user": "a+b c&d", "roles": ["x", "y,z"]})
    assert result.structured == {"user": "a+b c&d", "roles": ["x", "y,z"]}


def test_files_are_written_as_base64_and_sent_as_bytes(tools: dict[str, Tool]) -> None:
    contents = [base64.b64encode(each).decode() for each in (b"\x00\xff\r\n--", b"", b"text")]
    arguments = {"picture": contents[0], "others": contents[1:], "note": "ä"}
    assert call(tools["uploadPOST"], arguments).structured == {"note": "ä", "contents": contents}
    with pytest.raises(ToolArgumentsError, match="'picture' must be base64"):
        call(tools["uploadPOST"], {**arguments, "picture": "no base64!"})


def test_a_body_of_several_models_is_one(tools: dict[str, Tool]) -> None:
    arguments = {"part": {"name": "p"}, "order": {"customer": "c", "parts": []}, "urgent": True}
    assert call(tools["severalPUT"], arguments).structured == {"part": "p", "customer": "c", "urgent": True}


@pytest.mark.parametrize("way", ["header", "query", "cookie", "bearer", "basic"])
def test_credentials_of_the_environment_let_the_call_in(tools: dict[str, Tool], way: str) -> None:
    tool = tools[f"{way}GET"]
    assert tool.input_schema["properties"] == {}
    assert call(tool).structured == f"{way} True"


@pytest.mark.parametrize("way", ["header", "query", "cookie", "bearer", "basic"])
def test_without_credentials_the_result_names_the_variable(way: str) -> None:
    source = OpenApiSource(app.openapi(), transport=httpx.ASGITransport(app), environment={})
    (tool,) = (tool for tool in source.list_tools() if tool.meta["openapi"]["path"] == f"/keys/{way}")
    result = call(tool)
    variable = {
        "header": "SHOP_SHOP_KEY",
        "query": "SHOP_QUERY_KEY",
        "cookie": "SHOP_COOKIE_KEY",
        "bearer": "SHOP_TOKEN",
        "basic": "SHOP_LOGIN",
    }[way]
    assert result.is_error
    assert text_of(result).endswith(f"Set the environment variable {variable}.")
