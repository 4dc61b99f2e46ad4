"""Documents from URLs, and documents where catalogs are taken."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from tests.sources.openapi.documents import Recorder, call, document, operation, parameter
from toolsearch import Catalog, ToolRouter
from toolsearch.exceptions import CatalogFileError
from toolsearch.sources.files import read_catalog
from toolsearch.sources.openapi import OpenApiSource, load_openapi
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call
from toolsearch.tools import JsonObject

PETS = document(
    {
        "/pets": {
            "get": {"operationId": "listPets", "summary": "List the animals of the shop", "tags": ["pets"]}
        },
        "/pets/{id}": {
            "delete": operation(parameter("id", "path"), operationId="sell", summary="Sell an animal")
        },
    },
    servers=[{"url": "/api"}],
)


@contextlib.contextmanager
def served(value: JsonObject, status: int = 200, location: str = "") -> Iterator[tuple[str, list[str]]]:
    """The URL of a server on this machine that answers with `value`, and the paths that it is asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            content = json.dumps(value if self.path.startswith("/openapi") else {"path": self.path}).encode()
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            del format, args

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_document_at_a_url_is_called_where_it_stands() -> None:
    with served(PETS) as (url, asked):
        source = load_openapi(f"{url}/openapi.json?token=s3cr3t-token")
        by_name = {tool.raw_name: tool for tool in source.list_tools()}
        result = call(by_name["listPets"])
    assert result.structured == {"path": "/api/pets"}
    assert asked == ["/openapi.json?token=s3cr3t-token", "/api/pets"]
    assert "s3cr3t-token" not in repr([source, by_name, source.issues])


def test_a_url_is_read_like_a_catalog_file() -> None:
    with served(PETS) as (url, _):
        loaded = read_catalog(f"{url}/openapi.json")
    assert list(loaded.catalog) == ["pets__listPets", "pets__sell"]


@pytest.mark.parametrize(
    ("status", "location", "reason"),
    [
        (404, "", "answered 404"),
        (302, "http://169.254.169.254/latest", "is not public"),
        (302, "file:///etc/passwd", "cannot be had"),
    ],
)
def test_a_document_that_cannot_be_had_is_an_error(status: int, location: str, reason: str) -> None:
    """(E165)"""
    with served(PETS, status, location) as (url, asked):
        with pytest.raises(CatalogFileError, match=reason) as failed:
            load_openapi(f"{url}/openapi.json?token=s3cr3t-token")
        assert len(asked) == 1
    assert "s3cr3t-token" not in str(failed.value)


@pytest.mark.parametrize("url", ["http://", "https://ann:s3cr3t-pass@", "http://x:99999999/"])
def test_what_is_no_url_is_an_error_that_shows_no_password(url: str) -> None:
    with pytest.raises(CatalogFileError) as failed:
        load_openapi(url)
    assert "s3cr3t" not in str(failed.value)


def test_a_router_finds_and_calls_operations() -> None:
    recorder = Recorder(httpx.Response(200, json={"sold": True}))
    source = OpenApiSource(PETS, server="https://pets.example.com", transport=recorder)

    search = tool_call("tool_search", {"queries": ["sell an animal"]}, id="call_0")
    model = ScriptedChatModel([search, tool_call("pets__sell", {"id": "7"}), "Sold."])
    response = ToolRouter(model, source.list_tools(), embedder=HashingEmbedder()).run_sync("Sell animal 7.")
    assert response.text == "Sold."
    assert str(recorder.last.url) == "https://pets.example.com/pets/7"
    assert list(Catalog(source.list_tools())) == ["pets__listPets", "pets__sell"]
