"""What the pages on the service say, and what the README says of it, is so."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.console import Console, examples, matches
from toolsearch import Client
from toolsearch.api.search import Hit, SearchAnswer, SearchQuery
from toolsearch.server import ServerSettings, create_app, serving

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXT = (DOCS / "server.md").read_text(encoding="utf-8")
FOLLOWED = [
    ROOT / "README.md",
    *(DOCS / f"{name}.md" for name in ("server", "sessions", "keys", "calls", "learning")),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = create_app(ROOT / "indexes" / "demo" / "index", ServerSettings(port=0, save=False))
    with serving(app) as url, Client(url) as client:
        client.wait_until_ready()
        yield url


@pytest.fixture
def console(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Console]:
    console = Console.of(request.param, tmp_path)
    yield console
    console.stop()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(
    ("console", "page"), [(page, page) for page in FOLLOWED], ids=lambda page: page.name, indirect=["console"]
)
def test_a_page_can_be_followed_as_printed(console: Console, page: Path) -> None:
    """Each command of its console blocks, in one folder, prints what the page shows."""
    followed = examples(page)
    assert any(example.command.startswith("curl ") for example in followed)
    for example in followed:
        printed = console.follow(example)
        assert matches(example.shown, printed), f"{example.command}\n{printed[:1000]}"


def test_what_is_shown_is_compared_line_by_line() -> None:
    assert matches("a …\nb", "a and more\nb\n")
    assert matches("", "")
    assert not matches("a …\nb", "a and more\n")
    assert not matches("a", "a and more")
    assert not matches("", "a")


def test_examples_leave_the_index_of_the_demo_as_it_is() -> None:
    """A service that saves would change files of the checkout."""
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    commands = re.findall(
        r"^\$ (toolsearch serve indexes/demo/index.*)",
        "".join(p.read_text("utf-8") for p in pages),
        re.MULTILINE,
    )
    assert len(commands) >= len(FOLLOWED) - 1
    assert [command for command in commands if "--no-save" not in command] == []


def listed(heading: str) -> str:
    """The first column of the table after a line."""
    rows = re.match(r"(?:\n*(?:\|.*\n)+)", TEXT[TEXT.index(heading) + len(heading) :])
    assert rows is not None
    return rows[0]


def test_the_fields_of_a_search_and_of_its_answer_are_listed() -> None:
    asked = re.findall(
        r"`(\w+)`", "".join(line.split("|")[1] for line in listed("A request has\n").splitlines() if line)
    )
    assert set(SearchQuery.model_fields) - set(asked) == {"max_k"}  # with k
    told = listed("and its answer\n")
    assert [name for name in (*SearchAnswer.model_fields, *Hit.model_fields) if f"`{name}`" not in told] == []


def test_every_path_of_the_api_is_listed(url: str) -> None:
    with Client(url) as client:
        paths = client._http.get("/openapi.json").json()["paths"]
    table = TEXT[TEXT.index("| path | what |") : TEXT.index("[Rules for all")]
    listed = table.replace("{id}", "{session_id}")
    ends = {"/forget": "/v1/sessions/{session_id}/forget", "/batch": "/v1/search/batch"}
    for path in paths:
        end = next((short for short, whole in ends.items() if whole == path), path)
        assert end.removesuffix("/{key_id}") in listed, path


def test_every_setting_of_the_example_is_one() -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert ServerSettings(**tomllib.loads(block)).max_results == 20


def test_every_scope_is_listed() -> None:
    from toolsearch.api.scopes import KeyScope

    text = (DOCS / "keys.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(search|manage|call|admin)` \|", text, re.MULTILINE)
    assert listed == [scope.value for scope in KeyScope]
