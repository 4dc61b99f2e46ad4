"""`toolsearch serve` and `toolsearch keys` as processes and as commands."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.cli.conftest import Run
from tests.server.support import until
from toolsearch import BundledEmbedder, Client, Tool, build_index
from toolsearch.cli.database import same_database
from toolsearch.exceptions import ServerSettingsError
from toolsearch.server.settings import ServerSettings, made_settings, read_settings_file

ROOT = Path(__file__).parents[2]


@contextmanager
def serving(*arguments: object, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The command as a process, and the URL that it says."""
    command = [sys.executable, "-m", "toolsearch", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            found = re.search(r"at (http://\S+)", line)
            if found:
                yield found[1], process
                break
        else:
            raise AssertionError("it said no address")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def test_the_demo_index_is_served_as_a_process_and_outlives_it(tmp_path: Path) -> None:
    index, database = tmp_path / "index", tmp_path / "service.db"
    shutil.copytree(ROOT / "indexes" / "demo" / "index", index)
    with serving(index, "--database", database) as (url, _), Client(url) as client:
        client.wait_until_ready()
        found = client.search("refund an order", k=3)
        assert len(found.hits) == 3
        client.load_tools("s", found.names)
        client.put_tool("net__ping", {"name": "ping", "server": "net", "description": "Ping a host."})
        searches = client.get_usage().total.searches
    with serving(index, "--database", database) as (url, _), Client(url) as client:
        client.wait_until_ready()
        assert client.get_session("s").discovered == found.names
        assert client.search("ping a host").names[0] == "net__ping"
        assert client.get_usage().total.searches == searches + 1 == 2


def test_an_index_in_use_does_not_change_where_it_is_not_to_be_saved(run: Run, tmp_path: Path) -> None:
    del run
    index = tmp_path / "index"
    shutil.copytree(ROOT / "indexes" / "demo" / "index", index)
    before = (index / "manifest.json").read_bytes()
    with serving(index, "--no-save") as (url, _), Client(url) as client:
        client.wait_until_ready()
        client.put_tool("net__ping", {"name": "ping", "server": "net", "description": "Ping a host."})
        assert client.search("ping a host").names[0] == "net__ping"
    assert (index / "manifest.json").read_bytes() == before


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs the signal")
def test_it_reads_its_index_again_when_it_is_told_to(tmp_path: Path) -> None:
    index, smaller = tmp_path / "index", ("stripe__x", "net__ping")
    shutil.copytree(ROOT / "indexes" / "demo" / "index", index)
    with serving(index) as (url, process), Client(url) as client:
        client.wait_until_ready()
        embedder = BundledEmbedder()
        tools = tuple(Tool(raw_name=name, description="Ping a host.") for name in smaller)
        build_index(tools, embedder).save(index)
        process.send_signal(signal.SIGHUP)
        until(lambda: client.get_catalog().tools == 2)
        (index / "manifest.json").write_text("{}")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert any("cannot be loaded again" in line for line in process.stderr)
        assert client.search("ping a host", k=2).hits


def test_it_stops_when_it_is_told_to(tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(ROOT / "indexes" / "demo" / "index", index)
    with serving(index) as (_, process):
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def test_beyond_this_machine_it_needs_a_key(run: Run, index: Path) -> None:
    """E175: the service refuses to start open to the network."""
    done = run("serve", index, "--host", "0.0.0.0", "--embedder", "hashing", "--port", "0")
    assert (done.code, "a key is needed" in done.err) == (2, True)


def test_a_port_that_is_taken_ends_it(tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(ROOT / "indexes" / "demo" / "index", index)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [
            sys.executable,
            "-m",
            "toolsearch",
            "serve",
            str(index),
            "--port",
            str(taken.getsockname()[1]),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}
        )
        port = taken.getsockname()[1]
    errors = [line for line in done.stderr.splitlines() if "in use" in line.lower()]
    assert done.returncode == 4
    assert errors == [
        f"Error: Cannot listen at 127.0.0.1 on port {port}: Address already in use. Choose another: --port N"
    ]


def test_an_index_that_is_not_there_ends_it(run: Run, tmp_path: Path) -> None:
    done = run("serve", tmp_path / "none")
    assert (done.code, "does not exist" in done.err) == (3, True)


def test_a_catalog_in_place_of_an_index_is_told_and_kept(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "tools.jsonl").write_text('{"name": "ping", "description": "Ping a host."}')
    for given in (folder, folder / "tools.jsonl"):
        for command in (("serve", given), ("search", "ping", "-i", given), ("index", "verify", given)):
            done = run(*command)
            assert (done.code, "is a catalog, and no index" in done.err) == (3, True)
            assert f"toolsearch index build {given} -o INDEX" in done.err


def test_python_that_cannot_be_had_is_told_by_the_option_that_named_it(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    missing = tmp_path / "nofile.py"
    for option, command in (
        ("--call", ("serve", tmp_path, "--call", missing)),
        ("--python", ("gateway", "serve", "--python", missing)),
        ("MODULE[:NAME]", ("mcp", "serve", missing)),
    ):
        done = run(*command)
        assert done.code == 2
        assert f"Invalid value for {option}: {str(missing)!r} does not exist." in done.err.replace(
            "'--", "--"
        )


def test_a_reranker_that_is_not_there_ends_it(run: Run, index: Path) -> None:
    done = run("serve", index, "--rerank", "acme", "--embedder", "hashing", "--port", "0")
    assert (done.code, "Unknown reranker 'acme'" in done.err) == (4, True)


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_its_packages_it_says_what_to_install(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = run("serve", index, "--embedder", "hashing", "--port", "0")
    assert (done.code, "pip install 'toolsearch[server]'" in done.err) == (2, True)


def test_help_shows_every_setting(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("serve", "--help").out
    for name in ServerSettings.model_fields.keys() - {"api_key"}:
        assert f"--{name.replace('_', '-')}" in shown
        assert f"TOOLSEARCH_SERVER_{name.upper()}" in shown
    assert "--api-key-env" in shown


def test_the_line_goes_before_the_environment_and_that_before_the_file(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolsearch.server import app

    taken: list[ServerSettings] = []

    def stop(index: object, settings: ServerSettings, **_: object) -> None:
        taken.append(settings)
        raise ServerSettingsError("enough")

    monkeypatch.setattr(app, "create_app", stop)
    index, catalog = tmp_path / "index", tmp_path / "tools.json"
    catalog.write_text('{"name": "ping", "description": "Ping a host."}')
    run("index", "build", catalog, "-o", index)
    file = tmp_path / "settings.toml"
    file.write_text(
        'max_batch = 3\nmax_results = 4\nport = 5\nallow_host = ["a.example"]\nembedder = "hashing"\n'
    )
    monkeypatch.setenv("TOOLSEARCH_SERVER_MAX_RESULTS", "6")
    monkeypatch.setenv("TOOLSEARCH_SERVER_PORT", "7")
    monkeypatch.setenv("TOOLSEARCH_SERVER_API_KEY", "s3cr3t")
    assert run("serve", index, "--config", file, "--port", "8").code == 2
    (settings,) = taken
    assert (settings.max_batch, settings.max_results, settings.port) == (3, 6, 8)
    assert settings.allow_host == ("a.example",)
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "s3cr3t"
    assert "s3cr3t" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.toml", "port = 1\nhost = x", r"cannot be read \(TOMLDecodeError in line 2\)"),
        ("s.json", '{\n"port": }', "in line 2"),
        ("s.yaml", "port: 1\nhost: [", r"in line \d"),
        ("s.json", '{"openai_upstream": "x"}', r"openai_upstream: The base URL [^,]*, such as '[^']*'\.$"),
        ("s.json", "[1]", "holds no settings"),
        ("s.yaml", "prot: 1", r"unknown settings prot \(did you mean port\?\)"),
        ("s.toml", 'allow_host = "x"', r's\.toml cannot be used: allow_host: .* a list, such as \["x"\]'),
        ("s.json", '{"allow_origin": "x"}', r"s\.json cannot be used: allow_origin: .* a list"),
        ("s.yaml", "port: many", r"s\.yaml cannot be used: port: "),
        ("none.toml", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(ServerSettingsError, match=said):
        read_settings_file(file)


def test_a_value_that_cannot_be_used_is_told_without_it() -> None:
    with pytest.raises(ServerSettingsError, match="port: Input should be a valid integer") as caught:
        made_settings({"port": "s3cr3t"})
    assert "s3cr3t" not in str(caught.value)


def test_keys_are_made_listed_and_revoked(run: Run, tmp_path: Path) -> None:
    database = tmp_path / "service.db"
    made = run(
        "keys", "add", "bot", "--database", database, "--scope", "call", "--scope", "search", "--json"
    ).json
    assert made["key"]["scopes"] == ["search", "call"]
    assert made["secret"].startswith(f"ts_{made['key']['id']}_")
    assert made["secret"].encode() not in database.read_bytes()
    listed = run("keys", "list", "--database", database)
    assert (made["key"]["id"] in listed.out, made["secret"] in listed.out) == (True, False)
    named = run("keys", "revoke", "bot", "--database", database)
    assert (named.code, made["key"]["id"] in named.err) == (2, True)
    assert run("keys", "revoke", made["key"]["id"], "--database", database).code == 0
    again = run("keys", "revoke", made["key"]["id"], "--database", database)
    assert (again.code, "There is no key" in again.err) == (2, True)
    assert run("keys", "list", "--database", database, "--json").json == []


def test_where_there_are_no_keys_it_is_said(run: Run, tmp_path: Path) -> None:
    database = tmp_path / "service.db"
    made = run("keys", "add", "bot", "--database", database, "--json").json
    run("keys", "revoke", made["key"]["id"], "--database", database)
    done = run("keys", "list", "--database", database)
    assert (done.code, done.out) == (0, "")
    assert f"There are no keys. Make one: toolsearch keys add NAME --database {database}" in done.err


def test_looking_for_keys_makes_no_database(run: Run, tmp_path: Path) -> None:
    database = tmp_path / "mistyped.db"
    for command in (("keys", "list"), ("keys", "revoke", "abc")):
        done = run(*command, "--database", database)
        assert (done.code, f"There is no database {database}" in done.err) == (2, True)
        assert list(tmp_path.glob("mistyped*")) == []


def test_what_is_no_database_is_told(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "service.db"
    file.write_text("not a database, but long enough to look at" * 10)
    done = run("keys", "list", "--database", file)
    assert (done.code, "cannot be used" in done.err) == (2, True)


def test_a_database_in_no_folder_says_so(run: Run, tmp_path: Path) -> None:
    done = run("keys", "add", "bot", "--database", tmp_path / "none" / "x.db")
    assert done.code != 0
    assert f"Make it: mkdir -p {tmp_path / 'none'}" in done.err


def test_a_folder_that_holds_no_index_is_not_said_to_be_missing(run: Run, tmp_path: Path) -> None:
    assert "is a folder without an index" in run("serve", tmp_path).err
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "manifest.json").write_text("{}")
    assert f"Did you mean '{tmp_path / 'inner'}'?" in run("serve", tmp_path).err
    assert "does not exist" in run("serve", tmp_path / "other").err


def test_a_new_key_for_a_source_says_that_this_is_not_checked(run: Run, tmp_path: Path) -> None:
    done = run("keys", "add", "bot", "--server", "mial", "--database", tmp_path / "x.db")
    assert "Whether there is a source mial is not checked" in done.err


@pytest.mark.parametrize("url", ["http://host", "http://host/", "http://host/v1", "http://host/v1/"])
def test_the_address_of_anthropic_may_have_the_version_in_it(url: str) -> None:
    assert str(made_settings({"anthropic_upstream": url}).upstreams["anthropic"]).rstrip("/") == "http://host"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("postgresql://u@h/x", " --database postgresql://u@h/x"),
        ("postgresql://u@/x?host=/tmp/a", " --database 'postgresql://u@/x?host=/tmp/a'"),
        ("postgresql://u:s3cr3t@h/x", " --database postgresql://…, with the address that was given"),
        ("postgresql://h/x?password=s3cr3t", " --database postgresql://…, with the address that was given"),
        ("my file.db", " --database 'my file.db'"),
    ],
)
def test_a_command_to_paste_means_the_same_database(
    monkeypatch: pytest.MonkeyPatch, given: str, said: str
) -> None:
    assert same_database(given) == said
    monkeypatch.setenv("TOOLSEARCH_SERVER_DATABASE", given)
    assert same_database(given) == " (TOOLSEARCH_SERVER_DATABASE names the database)"


def test_an_address_of_openai_without_its_version_is_doubted(run: Run, index: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        given = (index, "--embedder", "hashing", "--port", str(busy.getsockname()[1]), "--openai-upstream")
        assert "is it http://host.example/v1?" in run("serve", *given, "http://host.example").err
        assert "is it" not in run("serve", *given, "http://host.example/v1").err
