"""Reference servers of npm and PyPI, all at once over stdio: listed, searched and called."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from tests.real_servers.installed import of_npm, of_pypi
from tests.sources.mcp.support import call, children, is_running, served, text_of, until
from toolsearch import CatalogSearcher, McpServers, SearchRequest, ToolResult
from toolsearch.messages import ImagePart
from toolsearch.sources.checking import check_sources
from toolsearch.sources.configured import read_sources
from toolsearch.tools import JsonObject

LISTED = {
    "everything": {"echo", "get-sum", "get-tiny-image", "get-structured-content"},
    "files": {"read_text_file", "write_file", "list_directory", "search_files"},
    "memory": {"create_entities", "search_nodes", "read_graph"},
    "thinking": {"sequentialthinking"},
    "git": {"git_status", "git_log", "git_commit", "git_diff_unstaged"},
    "time": {"get_current_time", "convert_time"},
    "fetch": {"fetch"},
}

QUERIES = [
    ("what time is it in Tokyo right now", "time__get_current_time"),
    ("convert 3 pm in London to New York time", "time__convert_time"),
    ("show the commit history of the repository", "git__git_log"),
    ("record the changes in the repository", "git__git_commit"),
    ("download a web page", "fetch__fetch"),
    ("write text to a new file", "files__write_file"),
    ("move or rename a file", "files__move_file"),
    ("add entities to the knowledge graph", "memory__create_entities"),
    ("add two numbers", "everything__get-sum"),
    ("think about a problem step by step", "thinking__sequentialthinking"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text and a repository, which the servers may use."""
    root = tmp_path_factory.mktemp("files").resolve()
    (root / "hello.txt").write_text("Hello there.\n")
    if shutil.which("git") is None:
        pytest.skip("there is no git, which mcp-server-git needs")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    repository = root / "repository"
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    (repository / "a.txt").write_text("one\n")
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    subprocess.run(["git", *identity, "commit", "-q", "-m", "First words"], cwd=repository, check=True)
    (repository / "a.txt").write_text("two\n")
    return root


@pytest.fixture(scope="module")
def configuration(folder: Path) -> JsonObject:
    return {
        "mcpServers": {
            "everything": of_npm("everything"),
            "files": of_npm("filesystem", str(folder)),
            "memory": of_npm("memory", env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}),
            "thinking": of_npm("sequential-thinking"),
            "git": of_pypi("mcp_server_git"),
            "time": of_pypi("mcp_server_time", "--local-timezone=UTC"),
            "fetch": of_pypi("mcp_server_fetch", "--allow-private-ips"),
        }
    }


@pytest.fixture(scope="module")
def source(configuration: JsonObject) -> Iterator[McpServers]:
    with McpServers.from_config(configuration) as opened:
        yield opened


def test_every_server_is_listed_whole(source: McpServers) -> None:
    assert source.issues == ()
    assert {status.server: status.state for status in source.statuses} == dict.fromkeys(LISTED, "ready")
    for server, names in LISTED.items():
        tools = [tool for tool in source.catalog.values() if tool.source == server]
        assert names <= {tool.raw_name for tool in tools}
        assert [tool.name for tool in tools if tool.name != f"{server}__{tool.raw_name}"] == []
        assert [tool.name for tool in tools if not tool.description] == []


def test_annotations_of_servers_are_those_of_tools(source: McpServers) -> None:
    facts = {name: (tool.read_only, tool.destructive) for name, tool in source.catalog.items()}
    assert facts["files__read_text_file"] == (True, None)
    assert facts["files__write_file"] == (False, True)
    assert facts["git__git_log"] == (True, False)
    assert facts["memory__delete_entities"] == (False, True)


def test_requests_in_plain_words_find_their_tools(source: McpServers) -> None:
    """Each among the first three of some fifty."""
    searcher = CatalogSearcher(source.catalog)
    found = {
        query: [hit.name for hit in searcher.search(SearchRequest(queries=(query,), k=3)).hits]
        for query, _ in QUERIES
    }
    assert [(query, found[query]) for query, name in QUERIES if name not in found[query]] == []


def test_files_are_read_and_written_where_the_server_may(source: McpServers, folder: Path) -> None:
    path = str(folder / "hello.txt")
    assert text_of(call(source, "files", "read_text_file", {"path": path})) == "Hello there.\n"
    written = {"path": str(folder / "new.txt"), "content": "näw 🙂"}
    assert not call(source, "files", "write_file", written).is_error
    assert (folder / "new.txt").read_text(encoding="utf-8") == "näw 🙂"
    refused = call(source, "files", "read_text_file", {"path": str(folder.parent / "x")})
    assert refused.is_error
    assert "outside allowed directories" in text_of(refused)


def test_memory_is_kept_between_calls(source: McpServers) -> None:
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    call(source, "memory", "create_entities", {"entities": [entity]})
    found = call(source, "memory", "search_nodes", {"query": "tea"})
    assert [each["name"] for each in found.structured["entities"]] == ["Ann"]
    assert json.loads(text_of(found)) == found.structured


def test_a_thought_is_taken(source: McpServers) -> None:
    thought = {"thought": "First.", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
    result = call(source, "thinking", "sequentialthinking", thought)
    assert json.loads(text_of(result))["thoughtNumber"] == 1


def test_a_repository_is_looked_at(source: McpServers, folder: Path) -> None:
    repository = {"repo_path": str(folder / "repository")}
    assert "First words" in text_of(call(source, "git", "git_log", repository))
    assert "+two" in text_of(call(source, "git", "git_diff_unstaged", repository))
    failed = call(source, "git", "git_show", {**repository, "revision": "no-such-revision"})
    assert failed.is_error


def test_a_time_is_converted_and_a_wrong_zone_is_an_error(source: McpServers) -> None:
    arguments = {"source_timezone": "Asia/Tokyo", "target_timezone": "Asia/Kolkata", "time": "12:00"}
    converted = call(source, "time", "convert_time", arguments)
    assert "08:30" in text_of(converted)
    wrong = call(source, "time", "get_current_time", {"timezone": "Nowhere/Town"})
    assert wrong.is_error
    assert "Nowhere/Town" in text_of(wrong)


def test_a_page_is_fetched(source: McpServers) -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        status = 404 if scope["path"] == "/robots.txt" else 200
        headers = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"Nothing but text."})

    with served(page) as url:
        fetched = call(source, "fetch", "fetch", {"url": f"{url}/page", "raw": True})
    assert "Nothing but text." in text_of(fetched)


def test_every_kind_of_content_comes_through(source: McpServers) -> None:
    def everything(tool: str, **arguments: Any) -> ToolResult:
        return call(source, "everything", tool, arguments)

    assert text_of(everything("echo", message="a\u2028b 🙂")) == "Echo: a\u2028b 🙂"
    assert "5" in text_of(everything("get-sum", a=2, b=3))
    image = everything("get-tiny-image")
    assert [part.media_type for part in image.content if isinstance(part, ImagePart)] == ["image/png"]
    structured = everything("get-structured-content", location="Chicago")
    assert set(structured.structured) == {"temperature", "conditions", "humidity"}
    assert text_of(everything("get-resource-links", count=2)).count("[resource demo://") == 2
    embedded = everything("get-resource-reference", resourceType="Text", resourceId=1)
    assert "[resource demo://resource/dynamic/text/1" in text_of(embedded)
    blob = everything("get-resource-reference", resourceType="Blob", resourceId=1)
    assert "bytes]" in text_of(blob)
    assert text_of(everything("get-annotated-message", messageType="error")).startswith("Error:")
    assert everything("echo", message=7).is_error


def test_progress_of_a_long_operation_is_told(source: McpServers) -> None:
    told: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def run() -> bool:
        result = await source.servers["everything"].call_tool(
            "trigger-long-running-operation", {"duration": 0.4, "steps": 4}, on_progress=on_progress
        )
        return result.is_error

    assert not asyncio.run(run())
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_resources_and_prompts_pass_through(source: McpServers) -> None:
    async def passed() -> tuple[str, list[str]]:
        server = source.servers["everything"]
        resources = (await server.list_resources()).resources
        read = await server.read_resource(str(resources[0].uri))
        prompts = [prompt.name for prompt in (await server.list_prompts()).prompts]
        prompt = await server.get_prompt(prompts[0])
        assert prompt.messages
        assert (await server.list_resource_templates()).resource_templates
        return read.contents[0].text, prompts  # type: ignore[union-attr]

    text, prompts = asyncio.run(passed())
    assert len(text) > 100
    assert len(prompts) >= 3


def test_the_environment_of_a_process_is_short(source: McpServers, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the server itself sees it."""
    seen = json.loads(text_of(call(source, "everything", "get-env")))
    assert "PATH" in seen
    assert "PYTEST_CURRENT_TEST" in os.environ
    assert "PYTEST_CURRENT_TEST" not in seen


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_no_server_outlives_a_program_that_is_killed(configuration: JsonObject) -> None:
    program = (
        "import json, sys; from toolsearch import McpServers;"
        "source = McpServers.from_config(json.loads(sys.argv[1])).open();"
        "print(len(source.catalog.sources), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, json.dumps(configuration)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{len(LISTED)}\n"
        started = children(process.pid)
        assert len(started) == len(LISTED)
        process.kill()
    until(lambda: not any(map(is_running, started)), within_s=60)


def test_a_check_says_that_all_of_them_work(configuration: JsonObject, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(configuration), encoding="utf-8")
    done = {each.name: each for each in check_sources(read_sources(path))}
    assert {name: each.reason for name, each in done.items()} == dict.fromkeys(LISTED, "")
    assert all(each.n_tools >= len(LISTED[name]) and each.version for name, each in done.items())
