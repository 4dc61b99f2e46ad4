"""What a model reads of an answer, and what a program is given of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.mcp.support import call, scripted, servers, text_of, tools
from toolsearch.messages import ImagePart, ToolResult
from toolsearch.sources.mcp.servers import McpServers


@pytest.fixture(scope="module")
def source() -> Iterator[McpServers]:
    with servers(a=scripted(tools("raw", "meta"))) as opened:
        yield opened


def answered(source: McpServers, result: Any) -> ToolResult:
    return call(source, "a", "raw", {"result": result})


def test_structured_content_stands_in_for_text(source: McpServers) -> None:
    """E61"""
    result = answered(source, {"content": [], "structuredContent": {"balance": 42}, "isError": False})
    assert text_of(result) == '{"balance": 42}'
    assert result.structured == {"balance": 42}


def test_structured_content_beside_text_is_for_programs(source: McpServers) -> None:
    block = {"type": "text", "text": "You have 42."}
    result = answered(source, {"content": [block], "structuredContent": {"balance": 42}})
    assert (text_of(result), result.structured) == ("You have 42.", {"balance": 42})


@pytest.mark.parametrize("value", [[1, 2], "plain", 7])
def test_structured_content_that_is_no_object_is_kept(source: McpServers, value: Any) -> None:
    result = answered(source, {"content": [], "structuredContent": value})
    assert result.structured == value


def test_an_embedded_resource_is_its_text_with_its_uri(source: McpServers) -> None:
    """E63"""
    resource = {"uri": "doc://1", "mimeType": "text/plain", "text": "hello"}
    result = answered(source, {"content": [{"type": "resource", "resource": resource}]})
    assert text_of(result) == "[resource doc://1, text/plain]\nhello"


def test_a_picture_is_a_picture_and_no_text(source: McpServers) -> None:
    """E66"""
    data = "A" * 200_000
    chart = {"type": "text", "text": "chart:"}
    picture = {"type": "image", "mimeType": "image/png", "data": data}
    result = answered(source, {"content": [chart, picture]})
    assert [part.kind for part in result.content] == ["text", "text", "image"]
    assert text_of(result) == "chart:[image, image/png, 150,000 bytes]"
    assert result.content[-1] == ImagePart(media_type="image/png", data=data)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            "[audio, audio/wav, 3 bytes; it cannot be shown here]",
        ),
        (
            {"type": "image", "mimeType": "image/svg+xml", "data": "AAA="},
            "[image, image/svg+xml, 2 bytes; it cannot be shown here]",
        ),
        (
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/x"},
            "[resource file:///a; a; text/x]",
        ),
        ({"type": "resource", "resource": {"uri": "b://1", "blob": "AAAA"}}, "[resource b://1, 3 bytes]"),
        ({"type": "hologram", "data": 1}, '{"type": "hologram", "data": 1}'),
        ({"type": "image", "data": "no media type"}, '{"type": "image", "data": "no media type"}'),
    ],
    ids=["audio", "svg", "link", "blob", "unknown", "broken"],
)
def test_every_other_part_is_named(source: McpServers, block: Any, told: str) -> None:
    assert text_of(answered(source, {"content": [block]})) == told


def test_a_failed_call_is_an_error_result(source: McpServers) -> None:
    """E67"""
    block = {"type": "text", "text": "no such row"}
    result = answered(source, {"content": [block], "isError": True})
    assert result.is_error
    assert text_of(result) == "no such row"


@pytest.mark.parametrize("is_error", [False, True])
def test_a_long_text_is_cut_between_characters_and_says_so(source: McpServers, is_error: bool) -> None:
    """E70"""
    block = {"type": "text", "text": "\U0001f600" * 1_250_000}
    result = answered(source, {"content": [block], "isError": is_error})
    text = text_of(result)
    assert text == "\U0001f600" * 50_000 + "[1,200,000 characters more were cut off.]"
    assert text.encode()
    assert result.is_error == is_error


@pytest.mark.parametrize("result", [{"content": []}, {"content": None}, {}])
def test_an_answer_with_nothing_says_so(source: McpServers, result: Any) -> None:
    assert text_of(answered(source, result)) == "(The tool answered with nothing.)"


def test_nothing_of_the_context_is_sent_unless_it_is_listed() -> None:
    settings = {"context": ["session_id", "state.user"]}
    listing = tools("meta")
    with servers(open=scripted(listing, settings=settings), closed=scripted(listing)) as source:
        context: dict[str, Any] = {
            "session_id": "s1",
            "tenant": "t",
            "state": {"user": "ann", "token": "secret"},
        }
        assert "toolsearch/context" not in text_of(call(source, "closed", "meta", **context))
        told = text_of(call(source, "open", "meta", **context))
        assert '"toolsearch/context": {"session_id": "s1", "user": "ann"}' in told
        assert "secret" not in told
