"""A gateway in the configurations of clients."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp", reason="needs the extra mcp")

from tests.cli.conftest import Run, run  # noqa: F401 - a fixture
from toolsearch.exceptions import McpConfigError
from toolsearch.gateway.client_files import ClientFile, ClientName, client_file, taken_over
from toolsearch.gateway.commented_json import changed_json, plain_json
from toolsearch.gateway.install import InstallPlan, plan_install
from toolsearch.sources.json_members import with_member
from toolsearch.sources.mcp.config import read_mcp_config

GIT = {"command": "uvx", "args": ["mcp-server-git"], "env": {"GIT_TOKEN": "s3cr3t-token"}}
COMMENTED = """\
// Settings of mine
{
  "theme": "dark", /* "not": "a member" */
  "context_servers": {
    // The one that I wrote
    "git": {"command": "uvx", "args": ["mcp-server-git"]},
  },
}
"""


def written(plan: InstallPlan) -> dict[str, Any]:
    """What is in each file after the plan, by its name."""
    for change in plan.changes:
        change.apply()
    return {change.path.name: json.loads(plain_json(change.path.read_text())) for change in plan.changes}


def cursor(folder: Path, **servers: Any) -> ClientFile:
    file = client_file("cursor", home=folder)
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(json.dumps({"mcpServers": servers, "other": 1}, indent=2))
    return file


@pytest.mark.parametrize(
    ("client", "platform", "path"),
    [
        ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("claude-code", "linux", ".claude.json"),
        ("cursor", "darwin", ".cursor/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("windsurf", "win32", ".codeium/windsurf/mcp_config.json"),
        ("zed", "darwin", ".config/zed/settings.json"),
        ("zed", "win32", "AppData/Roaming/Zed/settings.json"),
        ("gemini-cli", "linux", ".gemini/settings.json"),
        ("lm-studio", "linux", ".lmstudio/mcp.json"),
    ],
)
def test_each_client_has_its_file(client: ClientName, platform: str, path: str, tmp_path: Path) -> None:
    assert client_file(client, home=tmp_path, platform=platform).path == tmp_path / path


@pytest.mark.parametrize(
    ("client", "key", "kind"),
    [("cursor", "mcpServers", None), ("vscode", "servers", "stdio"), ("zed", "context_servers", None)],
)
def test_the_entry_is_what_the_client_reads(
    client: ClientName, key: str, kind: str | None, tmp_path: Path
) -> None:
    plan = plan_install(
        client_file(client, home=tmp_path), tmp_path / "mcp.json", ["a.json", "https://x.org/api"]
    )
    (after,) = written(plan).values()
    entry = after[key]["toolsearch"]
    assert entry.get("type") == kind
    assert entry["args"][-3:] == ["gateway", str(Path("a.json").absolute()), "https://x.org/api"]
    assert Path(entry["command"]).is_absolute()


def test_servers_are_taken_over_and_work_as_they_did(tmp_path: Path) -> None:
    remote = {"url": "https://mcp.example.org", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}
    client = cursor(tmp_path, git=GIT, far=remote)
    plan = plan_install(client, tmp_path / "own" / "mcp.json", take_over=True)
    assert (plan.taken, plan.left, plan.unsigned) == (("git", "far"), {}, ())
    files = [change.path for change in plan.changes]
    assert files == [tmp_path / "own" / "mcp.json", client.path]
    assert not files[0].exists()
    for change in plan.changes:
        change.apply()
    assert json.loads(client.path.read_text())["mcpServers"].keys() == {"toolsearch"}
    assert json.loads(client.path.read_text())["other"] == 1
    git, far = read_mcp_config(files[0])
    assert (git.command, git.args, git.env) == ("uvx", ("mcp-server-git",), GIT["env"])
    assert far.headers == {"Authorization": "Bearer ${TOKEN}"}
    assert plan_install(client, files[0], take_over=True).changes == ()


def test_a_backup_is_kept_and_permissions_stay(tmp_path: Path) -> None:
    client = cursor(tmp_path, git=GIT)
    before = client.path.read_text()
    client.path.chmod(0o640)
    plan = plan_install(client, tmp_path / "mcp.json", take_over=True)
    backups = [change.apply() for change in plan.changes]
    assert backups[0] is None
    assert backups[1] is not None
    assert backups[1].read_text() == before
    if sys.platform != "win32":
        assert client.path.stat().st_mode & 0o777 == 0o640
        assert (tmp_path / "mcp.json").stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_over_what_another_program_has_changed(tmp_path: Path) -> None:
    client = cursor(tmp_path)
    plan = plan_install(client, tmp_path / "mcp.json", ["a.json"])
    client.path.write_text('{"mcpServers": {"new": {"command": "x"}}}')
    with pytest.raises(McpConfigError, match="another program changed it"):
        plan.changes[0].apply()
    assert "new" in client.path.read_text()


def test_comments_stay(tmp_path: Path) -> None:
    client = client_file("zed", home=tmp_path, platform="linux")
    client.path.parent.mkdir(parents=True)
    client.path.write_text(COMMENTED)
    plan = plan_install(client, tmp_path / "mcp.json", ["a.json"])
    plan.changes[0].apply()
    after = client.path.read_text()
    assert after.startswith('// Settings of mine\n{\n  "theme": "dark", /* "not": "a member" */\n')
    assert "// The one that I wrote" in after
    assert json.loads(plain_json(after))["context_servers"].keys() == {"git", "toolsearch"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"source": "extension", "settings": {}}, "only the client knows how to start it"),
        ({"command": "x", "args": ["${workspaceFolder}"]}, "it uses ${workspaceFolder}"),
        ({"command": "x", "env": {"KEY": "${input:key}"}}, "it uses ${input:key}"),
        ({"command": "x", "args": "y"}, "its args is"),
    ],
)
def test_what_only_the_client_can_start_stays_there(entry: Any, reason: str, tmp_path: Path) -> None:
    client = cursor(tmp_path, odd=entry, git=GIT)
    plan = plan_install(client, tmp_path / "mcp.json", take_over=True)
    assert plan.taken == ("git",)
    assert reason in plan.left["odd"]
    for change in plan.changes:
        change.apply()
    assert json.loads(client.path.read_text())["mcpServers"].keys() == {"odd", "toolsearch"}


@pytest.mark.parametrize(
    ("client", "entry", "taken"),
    [
        ("windsurf", {"serverUrl": "https://x.org"}, {"url": "https://x.org"}),
        ("gemini-cli", {"httpUrl": "https://x.org"}, {"url": "https://x.org", "type": "http"}),
        ("gemini-cli", {"command": "x", "env": {"A": "$A"}}, {"command": "x", "env": {"A": "${A}"}}),
        ("zed", {"command": {"path": "x", "args": ["y"]}}, {"command": "x", "args": ["y"]}),
        ("zed", {"command": "x", "enabled": False}, {"command": "x", "disabled": True}),
        ("cursor", {"command": "x", "autoApprove": ["y"]}, {"command": "x"}),
    ],
)
def test_the_forms_of_clients_are_read(client: ClientName, entry: Any, taken: Any) -> None:
    assert taken_over(entry, client) == taken


def test_a_server_that_differs_from_one_that_the_gateway_has_stays(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"git": {"command": "other"}}}))
    plan = plan_install(cursor(tmp_path, git=GIT), tmp_path / "mcp.json", take_over=True)
    assert plan.left == {"git": "the gateway has another server of this name"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", r"no JSON \(line 1"),
        ("[]", "no JSON object"),
        ('{"mcpServers": []}', "'mcpServers' is no object"),
        ('{"mcpServers": {"toolsearch": {"command": "other"}}}', "another server of this name"),
    ],
)
def test_a_file_that_cannot_be_meant_is_left_as_it_is(content: str, said: str, tmp_path: Path) -> None:
    client = client_file("cursor", home=tmp_path)
    client.path.parent.mkdir()
    client.path.write_text(content)
    with pytest.raises(McpConfigError, match=said):
        plan_install(client, tmp_path / "mcp.json", ["a.json"])
    assert client.path.read_text() == content


def test_a_gateway_without_any_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(McpConfigError, match="no source"):
        plan_install(cursor(tmp_path), tmp_path / "mcp.json")


def test_the_command_shows_and_asks_and_hides_secrets(
    run: Run,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLSEARCH_CONFIG_DIR", str(tmp_path / "config"))
    far = {"url": "https://x.org", "args": ["--token", "t0ken-s3cret"]}
    client = cursor(tmp_path, git=GIT, far=far)
    before = client.path.read_text()
    install = ("gateway", "install", "--client", "cursor", "--file", client.path, "--import")

    shown = run(*install, "--dry-run")
    assert shown.code == 0
    assert '-    "git": {' in shown.out
    assert '+    "toolsearch": {' in shown.out
    assert "s3cr3t-token" not in shown.out
    assert "t0ken-s3cret" not in shown.out
    assert "[hidden]" in shown.out
    assert "Without credentials: far." in shown.err
    refused = run(*install, stdin="n\n")
    assert (refused.code, client.path.read_text()) == (1, before)
    assert not (tmp_path / "config").exists()

    done = run(*install, "--keep", "far", stdin="y\n")
    assert done.code == 0
    backup = re.search(r"What was there: (.+\.backup)", done.err)
    assert backup is not None
    assert Path(backup[1]).read_text() == before
    assert json.loads(client.path.read_text())["mcpServers"].keys() == {"far", "toolsearch"}
    again = run(*install, "--keep", "far", "--yes")
    assert (again.code, "Nothing to change." in again.err) == (0, True)


PARTS = st.lists(
    st.sampled_from(
        ['"a"', '"//b"', '"c\\"/*"', ":", ",", "{", "}", "[", "]", " ", "\n", "//x,\n", "/*,]*/", "1"]
    )
)


@settings(deadline=None)
@given(PARTS)
def test_what_is_no_comment_and_no_last_comma_stays_in_its_place(parts: list[str]) -> None:
    text = "".join(parts)
    plain = plain_json(text)
    assert len(plain) == len(text)
    assert plain_json(plain) == plain
    assert all(now in (was, " ") for was, now in zip(text, plain, strict=True))


VALUES = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.text(max_size=2), VALUES, max_size=4), st.text(max_size=2), VALUES, st.integers(0, 4)
)
def test_a_change_among_comments_is_the_change_without_them(
    data: dict[str, Any], key: str, value: Any, indent: int
) -> None:
    text = json.dumps(data, indent=indent)
    commented = "// one, two\n" + text.replace("\n", " // {a: 1},\n") + "/* end */"
    after = changed_json(commented, lambda plain: with_member(plain, (key,), value))
    assert json.loads(plain_json(after)) == {**data, key: value}
    assert after.startswith("// one, two\n")
    assert after.endswith("/* end */")


def test_a_source_that_does_not_exist_is_refused(run: Run, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "c.json"
    missing = tmp_path / "nofile.json"
    done = run("gateway", "install", missing, "--client", "cursor", "--file", file, "--yes")
    assert (done.code, f"there is no file {missing}" in done.err) == (2, True)
    assert not file.exists()
