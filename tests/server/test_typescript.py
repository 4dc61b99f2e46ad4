"""A client in TypeScript whose types `openapi-typescript` makes of the OpenAPI document."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.real_servers.installed import ADVICE, NODE_MODULES
from tests.server.support import service

CLIENT = Path(__file__).parent / "typescript" / "client.ts"
# What has a default need not be sent.
OPTIONAL = ("--default-non-nullable", "false")
STRICT = ("--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--types", "node")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.skipif(
    not (NODE_MODULES / "openapi-typescript").is_dir(),
    reason=f"openapi-typescript is not installed; {ADVICE}",
)
def test_types_made_of_the_document_fit_what_the_service_answers(tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES, target_is_directory=True)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(CLIENT, tmp_path)
    with service() as served:
        document = tmp_path / "openapi.json"
        document.write_bytes(served.http.get("/openapi.json").content)
        _run(
            tmp_path,
            "openapi-typescript/bin/cli.js",
            str(document),
            "-o",
            str(tmp_path / "schema.d.ts"),
            *OPTIONAL,
        )
        _run(tmp_path, "typescript/bin/tsc", *STRICT, "client.ts")
        told = json.loads(_node(tmp_path, "client.js", served.url))
    assert told["names"][0] == "mail__send_email"
    assert len(told["names"]) == 2
    assert told["batched"] == 2
    assert "mail__send_email" in told["text"]
    assert told["discovered"][0] == "mail__send_email"
    assert [tool["name"] for tool in told["sent"]] == ["tool_search", *told["discovered"]]
    assert (told["listed"], told["more"]) == (3, True)
    assert (told["removed"], told["gone"], told["ended"]) == (204, 404, 204)


def _run(folder: Path, program: str, *arguments: str) -> None:
    _node(folder, str(NODE_MODULES / program), *arguments)


def _node(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["node", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
