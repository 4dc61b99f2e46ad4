"""Every Python block and every `toolsearch` command of the docs runs as printed."""

import contextlib
import gc
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.serving import served
from tests.fake_provider.model import searching_model
from tests.fake_provider.provider import FakeProvider

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(page.read_text(encoding="utf-8")) if kind == language]


def ids(page: Path) -> str:
    return page.name


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a checkout to the examples, and takes what they write."""
    (tmp_path / "indexes").symlink_to(ROOT / "indexes", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """What clients of model providers reach, with a model that searches and then calls what it has found."""
    with served(then=searching_model) as (provider, url):
        for name in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_BASE_URL", url)
            monkeypatch.setenv(f"{name}_API_KEY", "key")
        yield provider


@contextlib.contextmanager
def examples(page: Path) -> Iterator[tuple[dict[str, Any], io.StringIO]]:
    """The names that the Python blocks of a page leave, and what they print.

    Examples leave clients open, as scripts do; they are collected here, not in the middle of another test.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for number, block in enumerate(blocks(page, "python"), start=1):
            exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    yield names, printed
    names.clear()
    gc.collect()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=ids)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_python_blocks_of_a_page_run_one_after_the_other(
    page: Path, checkout: Path, provider: FakeProvider
) -> None:
    del checkout, provider
    with examples(page) as (names, _):
        assert len(names) > 2


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_loop_of_the_readme_sends_a_few_of_all_tools(checkout: Path, provider: FakeProvider) -> None:
    del checkout
    with examples(ROOT / "README.md") as (names, printed):
        messages = names["messages"]
    assert printed.getvalue().endswith("Done.\n")
    assert [len(body["tools"]) <= 6 for body in provider.bodies] == [True, True, True]
    assert [message["role"] for message in provider.bodies[2]["messages"][-2:]] == ["assistant", "tool"]
    assert "refund" in messages[1]["tool_calls"][0]["function"]["name"]


def test_the_loop_of_the_readme_has_ten_lines() -> None:
    (block,) = (block for block in blocks(ROOT / "README.md", "python") if "wrap(" in block)
    lines = [line for line in block.splitlines() if line.strip() and not re.match(r"from|import", line)]
    assert len(lines) <= 10


def commands(page: Path) -> list[str]:
    text = "".join(blocks(page, "sh")).replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if re.match(r"\s*(\.venv/bin/)?toolsearch ", line)]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=ids)
def test_the_commands_of_a_page_run_one_after_the_other(page: Path, checkout: Path) -> None:
    program = shlex.join([sys.executable, "-m", "toolsearch"])
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    for command in commands(page):
        line = command.replace("/tmp/", f"{checkout}/")
        line = re.sub(r"(^|\| *)(\.venv/bin/)?toolsearch ", rf"\1{program} ", line)
        done = subprocess.run(
            line, shell=True, check=False, capture_output=True, text=True, env=environment, cwd=checkout
        )
        # 1 tells of findings; anything above is a command that did not work.
        assert done.returncode <= 1, f"{command}\n{done.stderr}"
        assert done.stdout.strip() or done.stderr.strip()


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_ci_runs_the_commands_that_the_pages_print() -> None:
    """And nothing else that tests: each page is named with the marker before its commands."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "pytest" not in script
    assert "python" not in script
    for page, marker, what in [
        ("README.md", "test command", "python -m tests"),
        ("CONTRIBUTING.md", "real servers", "pytest tests/real_servers"),
        ("CONTRIBUTING.md", "real model", "pytest tests/examples/test_offline_model.py"),
    ]:
        text = (ROOT / page).read_text(encoding="utf-8")
        (commands,) = re.findall(rf"<!-- {marker} -->\n```sh\n(.+?)\n```", text, re.DOTALL)
        assert what in commands
        assert f'"{page}:{marker}"' in script
