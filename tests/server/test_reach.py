"""A service that the network can reach is never without a key."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from pydantic import SecretStr

from tests.server.support import service
from toolsearch.api.keys import NewKey
from toolsearch.api.scopes import KeyScope
from toolsearch.server import ServerSettings
from toolsearch.server.database import SqliteDatabase
from toolsearch.server.keys import make_key

EVERYWHERE = "0.0.0.0"


def test_beyond_this_machine_nobody_comes_in_after_the_last_key_was_revoked(tmp_path: Path) -> None:
    path = tmp_path / "service.db"
    stored, made = make_key(NewKey(name="only", scopes=frozenset({KeyScope.ADMIN})), now=0.0)
    with SqliteDatabase(path) as database:
        database.add_key(stored)
    with service(database=path, host=EVERYWHERE) as served:
        only = served.as_key(made.secret)
        assert only.delete(f"/v1/keys/{stored.entry.id}").status_code == 204
        asked = [http.get(path) for http in (only, served.http) for path in ("/v1/keys", "/v1/tools")]
        assert [answer.status_code for answer in asked] == [401] * 4
        assert served.http.post("/v1/keys", json={"name": "mine", "scopes": ["admin"]}).status_code == 401
        assert served.http.get("/healthz").status_code == 200


def test_the_last_key_that_is_revoked_opens_nothing_on_this_machine(tmp_path: Path) -> None:
    """There may be a proxy in front of it."""
    with service(database=tmp_path / "service.db", allow_host=["tools.example.org"]) as served:
        only = served.as_key(served.key(KeyScope.ADMIN))
        for key in only.get("/v1/keys").json()["keys"]:
            only.delete(f"/v1/keys/{key['id']}")
        for host in ("127.0.0.1", "tools.example.org"):
            assert served.http.get("/v1/keys", headers={"host": host}).status_code == 401


def test_a_key_of_the_environment_counts_without_the_end_of_its_line() -> None:
    with service(api_key="s3cr3t-key\n") as served:
        assert served.as_key("s3cr3t-key").get("/v1/keys").status_code == 200
        assert served.http.get("/v1/keys").status_code == 401


def test_a_reload_that_leaves_no_key_changes_nothing() -> None:
    read = [ServerSettings(host=EVERYWHERE, port=0, api_key=SecretStr(""))]
    with service(host=EVERYWHERE, api_key="s3cr3t", read_settings=lambda: read[0]) as served:
        asyncio.run(served.app.state.service.reload())
        assert served.http.get("/v1/keys").status_code == 401
        assert served.as_key("s3cr3t").get("/v1/keys").status_code == 200
