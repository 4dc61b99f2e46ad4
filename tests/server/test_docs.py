"""docs/server.md, and what the README says of the service, is so."""

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from toolsearch import Client
from toolsearch.server import ServerSettings, create_app, serving

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = [
    example
    for page in (TEXT, README)
    for example in re.findall(r"^\$ (curl .*127\.0\.0\.1:8400.*)\n([^$`]*)", page, re.MULTILINE)
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = create_app(ROOT / "indexes" / "demo" / "index", ServerSettings(port=0, save=False))
    with serving(app) as url, Client(url) as client:
        client.wait_until_ready()
        yield url


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_a_request_has_the_answer_that_is_shown(url: str, command: str, shown: str) -> None:
    line = command.replace("http://127.0.0.1:8400", url)
    done = subprocess.run(["bash", "-c", f"{line} --fail"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace("\\n", " ").startswith(shown.partition(" …")[0].strip())


@pytest.mark.parametrize("page", [TEXT, README], ids=["server.md", "README.md"])
def test_the_service_starts_and_says_what_is_shown(page: str, tmp_path: Path) -> None:
    """The block as it is printed, but for the port, which another program may have."""
    (command, shown) = re.findall(r"^\$ (toolsearch serve .*)\n([^$`]*)", page, re.MULTILINE)[0]
    shutil.copytree(ROOT / "indexes" / "demo" / "index", tmp_path / "indexes" / "demo" / "index")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", *shlex.split(command), "--port", str(port)]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = "".join(process.stderr.readline() for _ in shown.splitlines())
            assert said == shown.replace("8400", str(port))
        finally:
            process.terminate()
        assert process.wait(60) in {0, -signal.SIGTERM}


def test_there_are_such_requests() -> None:
    assert len(EXAMPLES) == 7


def test_every_path_of_the_api_is_listed(url: str) -> None:
    with Client(url) as client:
        paths = client._http.get("/openapi.json").json()["paths"]
    table = TEXT[TEXT.index("| path | what |") : TEXT.index("A loop in any language")]
    listed = table.replace("{id}", "{session_id}")
    ends = {"/forget": "/v1/sessions/{session_id}/forget", "/batch": "/v1/search/batch"}
    for path in paths:
        end = next((short for short, whole in ends.items() if whole == path), path)
        assert end.removesuffix("/{key_id}") in listed or path.endswith("/reload"), path
    assert "/v1/catalogs/default/reload" in TEXT


def test_every_setting_of_the_example_is_one() -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    import tomllib

    assert ServerSettings(**tomllib.loads(block)).max_results == 20


def test_every_scope_is_listed() -> None:
    from toolsearch.api.scopes import KeyScope

    listed = re.findall(r"^\| `(search|manage|call|admin)` \|", TEXT, re.MULTILINE)
    assert listed == [scope.value for scope in KeyScope]
