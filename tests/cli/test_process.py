"""What only a process of its own shows: start-up, pipes, encodings, signals, the real embedder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import TOOLS

HEAVY = ("faiss", "onnxruntime", "torch", "numpy", "pydantic", "jsonschema", "tiktoken", "bm25s", "httpx")


def toolsearch(
    *arguments: object, stdin: str = "", cache: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    if cache is not None:
        known["TOOLSEARCH_CACHE_DIR"] = str(cache / "cache")
    return subprocess.run(
        [sys.executable, "-m", "toolsearch", *map(str, arguments)],
        input=stdin,
        env=known,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_command_line_imports_nothing_heavy() -> None:
    code = f"import sys, toolsearch.cli; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_every_command_and_exit_code() -> None:
    done = toolsearch("--help")
    assert done.returncode == 0
    for word in ("index", "search", "eval", "lint", "tokens", "demo", "catalog", "Exit codes"):
        assert word in done.stdout
    assert toolsearch("--version").stdout.startswith("toolsearch ")


def test_a_usage_error_is_plain_and_exits_with_2() -> None:
    for arguments in ((), ("nope",), ("search", "mail"), ("index", "build", "x", "-o", "y", "--kind", "z")):
        done = toolsearch(*arguments)
        assert done.returncode == 2
        assert done.stdout == "" or not arguments
        assert "Traceback" not in done.stderr


def test_an_index_is_built_and_searched_with_the_embedder_of_the_package(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built = toolsearch("index", "build", "-", "-o", index, "--json", stdin=json.dumps(TOOLS), cache=tmp_path)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["embedder"].startswith("toolsearch-minilm@")
    found = toolsearch("search", "will it rain tomorrow?", "-i", index, "-k", 1, "--json", cache=tmp_path)
    assert json.loads(found.stdout)["hits"][0]["name"] == "geo__get_weather"
    assert toolsearch("index", "verify", index).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")
def test_a_reader_that_leaves_ends_the_command_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{**TOOLS[0], "name": f"tool{i}"} for i in range(3000)]))
    process = subprocess.Popen(
        [sys.executable, "-m", "toolsearch", "catalog", "convert", str(path), "--to", "mcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.wait() == 141


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("tokens CATALOG >&-", 0, ""),
        ("tokens CATALOG --json >&-", 0, ""),
        ("--help >&-", 0, ""),
        ("tokens - <&-", 2, "Error: -: the file is empty"),
        ("search - -i nowhere <&-", 2, "standard input holds no query"),
        ("tokens nothing.json 2>&-", 2, ""),
        ("tokens nothing.json <&- >&- 2>&-", 2, ""),
    ],
)
def test_a_stream_that_is_closed_is_nobody(tmp_path: Path, command: str, code: int, said: str) -> None:
    done = in_shell(command, tmp_path)
    assert done.returncode == code
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize(
    "command", ["--help", "--version", "tokens --help", "tokens CATALOG", "tokens CATALOG --json"]
)
def test_output_that_cannot_be_written_is_a_failure(tmp_path: Path, command: str) -> None:
    done = in_shell(f"{command} > /dev/full", tmp_path)
    assert done.returncode == 4
    assert done.stderr.splitlines() == ["Error: [Errno 28] No space left on device"]
    assert in_shell(f"{command} > /dev/full 2> /dev/full", tmp_path).returncode == 4


def in_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    line = f"{sys.executable} -m toolsearch {command.replace('CATALOG', 'tools.json')}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        line, shell=True, capture_output=True, encoding="utf-8", cwd=folder, env=environment, check=False
    )


def test_a_choice_that_there_is_not_is_told_from_those_there_are() -> None:
    for arguments in (("index", "build", "x", "-o", "y", "--kind", "z"), ("tokens", "x", "--form", "z")):
        message = toolsearch(*arguments).stderr.splitlines()[-1]
        assert message.startswith(f"Error: Invalid value for '{arguments[-2]}': 'z' is not one of 'a") or (
            "'openai'" in message and "Value error" not in message
        )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_output_encoding_can_carry_any_catalog(tmp_path: Path, encoding: str) -> None:
    tool = {**TOOLS[0], "server": "数据", "description": "日本の法令を検索します 🙂 é \ud800"}
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool]))
    done = toolsearch("tokens", path, "--top", "0", PYTHONIOENCODING=encoding, LANG="C")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    converted = toolsearch("catalog", "convert", path, "--to", "own", PYTHONIOENCODING=encoding)
    assert "日本の法令を検索します 🙂 é" in json.loads(converted.stdout)[0]["description"]


NO_PACKAGE = """
import sys
for name in sys.argv.pop(1).split(","):
    sys.modules[name] = None
import importlib.util
known = importlib.util.find_spec
gone = lambda name: name in sys.modules and sys.modules[name] is None
importlib.util.find_spec = lambda name, *rest: None if gone(name) else known(name, *rest)
from toolsearch.cli import main
main()
"""


@pytest.mark.parametrize(
    ("packages", "extra", "arguments"),
    [
        ("mcp", "mcp", ("gateway", "serve", "mcp.json")),
        ("mcp", "mcp", ("gateway", "install", "mcp.json", "--client", "cursor", "--file", "c.json", "--yes")),
        ("mcp", "mcp", ("mcp", "serve", "shop.py")),
        ("mcp", "mcp", ("sources", "check", "-c", "mcp.json")),
        ("mcp", "mcp", ("call", "a__b", "-c", "mcp.json")),
        ("mcp", "mcp", ("index", "build", "mcp.json", "-o", "index")),
        ("torch", "tune", ("tune", "tools.json", "-o", "tuned")),
        ("sentence_transformers", "sentence-transformers", ("search", "x", "-i", "i", "--rerank", "st:x")),
        ("psycopg", "postgres", ("db", "check", "--database", "postgresql://h/n")),
        ("uvicorn", "server", ("mcp", "serve", "shop.py", "--http", "127.0.0.1:0")),
    ],
)
def test_a_command_without_its_extra_names_it_in_one_line(
    tmp_path: Path, packages: str, extra: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"command": "none"}}}')
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    (tmp_path / "shop.py").write_text("from toolsearch import tool\n\n@tool\ndef f() -> None: 'F.'\n")
    if arguments[0] == "search":
        assert toolsearch("index", "build", tmp_path / "tools.json", "-o", tmp_path / "i").returncode == 0
    done = subprocess.run(
        [sys.executable, "-c", NO_PACKAGE, packages, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode in {2, 4}, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert f"pip install 'toolsearch[{extra}]'" in line


def test_colours_are_left_out_where_nobody_wants_or_sees_them(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS))
    assert "\x1b" not in toolsearch("tokens", path).stdout
    assert "\x1b" not in toolsearch("tokens", path, NO_COLOR="1").stdout
