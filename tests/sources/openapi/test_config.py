"""OpenAPI documents in a configuration of tool sources, beside MCP servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.support import a_tool, scripted
from tests.sources.openapi.documents import Recorder, document
from toolsearch.exceptions import CatalogFileError, McpConfigError
from toolsearch.sources.configured import is_config_file, read_sources
from toolsearch.sources.configured_catalog import read_configured_catalog

PETS = document({"/pets": {"get": {"operationId": "listPets", "summary": "List the animals"}}})


def configured(tmp_path: Path, **content: Any) -> Path:
    (tmp_path / "pets.json").write_text(json.dumps(PETS), encoding="utf-8")
    path = tmp_path / "sources.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_servers_and_documents_of_one_file_are_one_catalog(tmp_path: Path) -> None:
    path = configured(
        tmp_path,
        mcpServers={"zoo": scripted([a_tool("feed")])},
        openapi={
            "shop": {"document": "pets.json"},
            "gone": {"document": "gone.json"},
            "off": {"document": "off.json", "disabled": True},
        },
    )
    loaded = read_configured_catalog(path)
    assert list(loaded.catalog) == ["shop__listPets", "zoo__feed"]
    assert [(issue.severity, Path(issue.path).name) for issue in loaded.issues] == [("error", "gone.json")]
    assert all(tool.call is None for tool in loaded.catalog.values())
    with pytest.raises(CatalogFileError, match=r"gone\.json"):
        read_configured_catalog(path, strict=True)


def test_calls_go_out_as_the_configuration_says_with_the_values_of_variables(tmp_path: Path) -> None:
    path = configured(
        tmp_path,
        openapi={
            "shop": {
                "document": "${NAME}.json",
                "server": "https://${HOST:-shop.example.com}/v2",
                "headers": {"X-Team": "${TEAM}"},
            }
        },
    )
    recorder = Recorder()
    (config,) = read_sources(path).documents
    source = config.load({"NAME": "pets", "TEAM": "blue"}, transport=recorder)
    source.list_tools()[0].call_sync({})
    assert str(recorder.last.url) == "https://shop.example.com/v2/pets"
    assert recorder.last.headers["X-Team"] == "blue"
    with pytest.raises(CatalogFileError, match="'shop': the environment variable TEAM is not set"):
        config.load({"NAME": "pets"})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("pets.json", "it is the text 'pets.json'. Give an object"),
        ({"url": "x"}, "url"),
        ({}, "it has no 'document': a path or a URL"),
        ({"document": "d", "headers": {"Authorization": 7}}, "its headers must be an object of texts"),
        ({"document": "d", "timeout_s": "7"}, "its timeout_s must be a number"),
        ({"document": "d", "allow_hosts": "x"}, "its allow_hosts must be a list of texts"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_named(tmp_path: Path, entry: Any, said: str) -> None:
    path = configured(tmp_path, openapi={"shop": entry})
    with pytest.raises(CatalogFileError, match="OpenAPI document 'shop'") as raised:
        read_sources(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_server_and_a_document_do_not_share_a_name(tmp_path: Path) -> None:
    path = configured(
        tmp_path, mcpServers={"a": {"url": "https://a.example.com"}}, openapi={"a": {"document": "pets.json"}}
    )
    with pytest.raises(McpConfigError, match="there are two sources of this name"):
        read_sources(path)


def test_a_configuration_is_told_from_a_document_and_a_catalog(tmp_path: Path) -> None:
    assert is_config_file(configured(tmp_path, openapi={"a": {"document": "pets.json"}}))
    assert is_config_file(configured(tmp_path, mcpServers={"a": {"url": "https://a.example.com"}}))
    assert not is_config_file(tmp_path / "pets.json")
    assert not is_config_file(configured(tmp_path, name="openapi", description="mcpServers"))
    assert not is_config_file(tmp_path)
