import json
import logging
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from toolsearch.exceptions import TrustError
from toolsearch.index.lock import locked
from toolsearch.tools import Tool
from toolsearch.trust import GuardedSource, TrustEntry, TrustFile, TrustGuard, TrustRecord

SEND = Tool(raw_name="send", source="mail", description="Sends a mail.\nTo one person.")
READ = Tool(raw_name="read", source="files", description="Reads a file.")
CHANGED = replace(SEND, description="Sends a mail to everybody.")


class ListSource:
    """A source of what it was last given."""

    name = "listed"

    def __init__(self, *tools: Tool) -> None:
        self.tools = tools

    def list_tools(self) -> tuple[Tool, ...]:
        return self.tools


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trust.json"


def test_a_guarded_source_lists_what_is_approved_in_its_order(path: Path) -> None:
    """(E161)"""
    source = ListSource(SEND, READ)
    guarded = TrustGuard(path).guarded(source)
    assert isinstance(guarded, GuardedSource)
    assert list(guarded.list_tools()) == [SEND, READ]
    source.tools = (CHANGED, READ)
    assert list(guarded.list_tools()) == [READ]
    assert [finding.tool for finding in guarded.findings] == ["send"]
    guard = TrustGuard(path)
    guard.file.update(lambda record: (record.approved("mail", ["send"]), None))
    assert list(guard.guarded(source).list_tools()) == [CHANGED, READ]


def test_a_change_is_logged_once_with_server_tool_and_digests_and_without_its_text(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """(E161)"""
    guard = TrustGuard(path)
    guard.admit("mail", [SEND])
    with caplog.at_level(logging.DEBUG):
        done = guard.admit("mail", [CHANGED])
        guard.admit("mail", [CHANGED])
    (record,) = [r for r in caplog.records if r.name.startswith("toolsearch.trust")]
    finding = done.findings[0]
    for part in ("'send'", "'mail'", "held", finding.approved[:12], finding.proposed[:12]):
        assert part in record.getMessage()
    assert "everybody" not in caplog.text


def test_the_file_reads_back_and_shows_a_change_as_lines(path: Path) -> None:
    guard = TrustGuard(path)
    guard.admit("mail", [SEND])
    before = path.read_text().splitlines()
    assert '            "description": [' in before
    guard.admit("mail", [CHANGED])
    after = path.read_text().splitlines()
    assert [line for line in before if line not in after] == []
    assert guard.file.load().sources["mail"]["send"].proposed is not None
    assert json.loads(path.read_text()) == json.loads(json.dumps(guard.file.load().to_json()))


def test_what_changes_nothing_writes_nothing(path: Path) -> None:
    guard = TrustGuard(path)
    guard.admit("mail", [SEND])
    path.chmod(0o400)
    stamp = path.stat()
    guard.admit("mail", [SEND])
    assert path.stat() == stamp
    assert [entry.name for entry in path.parent.iterdir()] == ["trust.json"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is no JSON"),
        ("<<<<<<< ours\n{}", "is no JSON"),
        ("[]", "it is no trust file"),
        ('{"format": "other"}', "it is no trust file"),
        ('{"format": "toolsearch-trust", "version": 9}', "version 9"),
        ('{"format": "toolsearch-trust", "version": 1}', "damaged"),
        ('{"format": "toolsearch-trust", "version": 1, "sources": {"a": []}}', "damaged"),
        ("[" * 100_000, "Trust file"),
    ],
)
def test_a_file_that_is_no_trust_file_is_refused_and_left_alone(path: Path, text: str, reason: str) -> None:
    path.write_text(text)
    with pytest.raises(TrustError, match=reason):
        TrustGuard(path).admit("mail", [SEND])
    assert path.read_text() == text


def test_a_definition_that_was_edited_by_hand_is_not_trusted(path: Path) -> None:
    TrustGuard(path).admit("mail", [SEND])
    path.write_text(path.read_text().replace("To one person", "To everybody"))
    with pytest.raises(TrustError, match="mail, send: the approved definition is not what its digest says"):
        TrustFile(path).load()


def test_writers_at_the_same_time_lose_nothing(path: Path) -> None:
    def admit(number: int) -> None:
        source = f"s{number}"
        TrustGuard(path).admit(source, [replace(SEND, source=source)])

    threads = [threading.Thread(target=admit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(TrustFile(path).load().sources) == [f"s{number}" for number in range(8)]


def test_a_writer_that_stays_too_long_is_reported(path: Path) -> None:
    refusal = TimeoutError()
    with (
        locked(path.with_name(".trust.json.lock"), timeout_s=1, refusal=refusal),
        pytest.raises(TrustError, match="another process"),
    ):
        TrustFile(path).update(
            lambda _: (TrustRecord().with_entries("a", {"b": TrustEntry()}), None), timeout_s=0
        )
    assert not path.exists()


def test_a_failed_write_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = TrustGuard(path)
    guard.admit("mail", [SEND])
    before = path.read_text()

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        guard.admit("files", [READ])
    assert path.read_text() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["trust.json"]


def test_a_guard_decides_on_what_a_server_lists(path: Path) -> None:
    """(E161) As `McpServers` asks it."""
    guard = TrustGuard(path)
    assert guard("mail", (), (SEND,)) == (SEND,)
    assert guard("mail", (SEND,), (CHANGED,)) == ()
