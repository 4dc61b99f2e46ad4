"""Who gets in, what each may do, and what nobody is told."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, service
from toolsearch.api.keys import NewKey
from toolsearch.api.scopes import KeyScope
from toolsearch.exceptions import ServerSettingsError
from toolsearch.retrieval.building import build_index
from toolsearch.server import ServerSettings, create_app
from toolsearch.server.database import SqliteDatabase
from toolsearch.server.keys import Caller, KeyCheck
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

HIDDEN = ("payroll", "salar", "finance", "money", "raise_wages")
TOOLS = (
    Tool(raw_name="send_email", source="mail", description="Send an email message.", tags=("mail",)),
    Tool(raw_name="search_mail", source="mail", description="Find emails by text."),
    Tool(raw_name="read_payroll", source="finance", description="Read salaries.", tags=("money",)),
    Tool(raw_name="raise_wages", source="finance", description="Change salaries.", tags=("money",)),
)
ALL = frozenset(KeyScope)


@pytest.fixture
def served() -> Iterator[Served]:
    with service(TOOLS) as served:
        yield served


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer wrong",
        b"Bearer \xc3\xa9\xc3\xa9\xc3\xa9",
        b"Bearer \xe9\xe9\xe9",
        b"Basic abc",
        b"ts_0123456789abcdef_abc",
        b"Bearer ts_0123456789abcdef_abc",
        b"Bearer ts_\xe9_abc",
    ],
)
def test_without_a_key_nobody_gets_in(served: Served, header: bytes | None) -> None:
    """E175."""
    served.key()
    headers = {} if header is None else {b"authorization": header}
    response = served.http.get("/v1/tools", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["detail"] == "A valid key is needed: Authorization: Bearer KEY."


def test_a_key_that_is_changed_in_any_place_is_none(served: Served) -> None:
    secret = served.key()
    assert served.as_key(secret).get("/v1/tools").status_code == 200
    for place in (0, 5, len(secret) - 1):
        other = secret[:place] + ("x" if secret[place] != "x" else "y") + secret[place + 1 :]
        assert served.as_key(other).get("/v1/tools").status_code == 401
    assert served.as_key(secret[:-1]).get("/v1/tools").status_code == 401
    assert served.as_key(secret + "x").get("/v1/tools").status_code == 401


def test_keys_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """E175: every comparison is `hmac.compare_digest`, of bytes."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("toolsearch.server.keys.hmac.compare_digest", compare)
    with SqliteDatabase() as database:
        check = KeyCheck(database, api_key="own-key")
        assert check.caller(b"Bearer own-key") == Caller(key_id="environment")
        for header in (None, b"", b"Bearer x", b"Bearer own-ke"):
            with pytest.raises(Exception, match="A valid key is needed"):
                check.caller(header)
    # Two each, whatever the header.
    assert len(compared) == 10
    assert all(isinstance(part, bytes) and len(part) == 32 for pair in compared for part in pair)


def test_two_authorization_headers_are_none(served: Served) -> None:
    secret = served.key()
    headers = [("authorization", f"Bearer {secret}"), ("authorization", f"Bearer {secret}")]
    assert served.http.get("/v1/tools", headers=headers).status_code == 401


def test_no_part_of_a_wrong_key_is_logged(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """E170."""
    served.key()
    with caplog.at_level(logging.DEBUG):
        headers = {"Authorization": "Bearer abcdefghijklmnopqrstuvwxyz"}
        served.http.get("/v1/tools", headers=headers)
    ours = [record for record in caplog.records if not record.name.startswith("http")]
    assert any("401" in record.getMessage() for record in ours)
    assert all("abcd" not in record.getMessage() for record in ours)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:3000"])
def test_pages_may_not_ask(served: Served, origin: str) -> None:
    """E177."""
    for method, headers in (
        ("GET", {}),
        ("POST", {}),
        ("OPTIONS", {"Access-Control-Request-Method": "POST"}),
    ):
        response = served.http.request(method, "/v1/tools", headers={"Origin": origin, **headers})
        assert response.status_code in {403, 405}
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_an_origin_that_is_allowed_may_ask_and_no_other() -> None:
    """E177."""
    with service(TOOLS, allow_origin=("https://app.example",)) as served:
        asked = served.http.get("/v1/sources", headers={"Origin": "https://app.example"})
        assert asked.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in asked.headers
        preflight = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }
        allowed = served.http.options("/v1/search", headers={"Origin": "https://app.example", **preflight})
        assert allowed.status_code == 200
        evil = served.http.options("/v1/search", headers={"Origin": "https://evil.example", **preflight})
        assert "access-control-allow-origin" not in evil.headers
        evil = served.http.get("/v1/sources", headers={"Origin": "https://evil.example"})
        assert (evil.status_code, "access-control-allow-origin" in evil.headers) == (403, False)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8400", "127.0.0.1.evil.example", ""])
def test_another_host_is_not_answered(served: Served, host: str) -> None:
    """A page of somebody else reaches this machine through a name of its own."""
    assert served.http.get("/v1/tools", headers={"Host": host}).status_code == 403
    assert served.http.get("/v1/tools", headers={"Host": "localhost:1"}).status_code == 200


def test_beyond_this_machine_it_does_not_start_without_a_key() -> None:
    embedder = HashingEmbedder()
    index = build_index(TOOLS, embedder)
    for host in ("0.0.0.0", "::", "192.0.2.1", "tools.example"):
        with pytest.raises(ServerSettingsError, match="a key is needed"):
            create_app(index, ServerSettings(host=host), embedder=embedder)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        create_app(index, ServerSettings(host=host), embedder=embedder).state.service.close()
    guarded = ServerSettings.model_validate({"host": "0.0.0.0", "api_key": "s3cr3t"})
    create_app(index, guarded, embedder=embedder).state.service.close()


def test_answers_have_headers_that_keep_browsers_from_guessing(served: Served) -> None:
    for path in ("/healthz", "/v1/tools", "/v1/nothing", "/openapi.json"):
        headers = served.http.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
        assert len(headers["x-request-id"]) == 16


CHANGES: list[tuple[str, str, Any]] = [
    ("PUT", "/v1/tools/mail__x", {"name": "x", "server": "mail"}),
    ("PATCH", "/v1/tools/mail__send_email", {"title": "Send"}),
    ("DELETE", "/v1/tools/mail__send_email", None),
    ("POST", "/v1/tools/bulk", [{"name": "x", "server": "mail"}]),
    ("PUT", "/v1/sources/mail", [{"name": "x"}]),
    ("DELETE", "/v1/sources/mail", None),
    ("PUT", "/v1/catalogs/default/tools", [{"name": "x", "server": "mail"}]),
]
ADMINISTRATION: list[tuple[str, str, Any]] = [
    ("POST", "/v1/catalogs/default/reload", None),
    ("GET", "/v1/keys", None),
    ("POST", "/v1/keys", {"name": "x"}),
    ("DELETE", "/v1/keys/x", None),
    ("GET", "/metrics", None),
]
READING: list[tuple[str, str, Any]] = [
    ("POST", "/v1/search", {"queries": "mail"}),
    ("GET", "/v1/tools", None),
    ("GET", "/v1/usage", None),
    ("POST", "/v1/sessions", {}),
]


@pytest.mark.parametrize(
    ("scope", "allowed", "denied"),
    [
        (KeyScope.SEARCH, READING, CHANGES + ADMINISTRATION),
        (KeyScope.MANAGE, [], READING + ADMINISTRATION),
        (KeyScope.CALL, [], READING + CHANGES + ADMINISTRATION),
    ],
)
def test_a_key_does_what_its_scope_says_and_nothing_else(
    served: Served, scope: KeyScope, allowed: list[Any], denied: list[Any]
) -> None:
    client = served.as_key(served.key(scope))
    for method, path, body in allowed:
        assert client.request(method, path, json=body).is_success
    for method, path, body in denied:
        response = client.request(method, path, json=body)
        assert (response.status_code, response.json()["type"]) == (
            403,
            "urn:toolsearch:problem:access-denied",
        )
    everything = served.as_key(served.key(KeyScope.ADMIN))
    assert len(everything.get("/v1/tools").json()["tools"]) == 4


def test_a_service_that_is_read_only_changes_nothing() -> None:
    with service(TOOLS, read_only=True) as served:
        for method, path, body in CHANGES:
            assert served.http.request(method, path, json=body).status_code == 403
        assert len(served.http.get("/v1/tools").json()["tools"]) == 4


@pytest.mark.parametrize(
    "rules",
    [{"sources": ("mail",)}, {"allow": ("mail/*",)}, {"deny": ("finance/*",)}, {"allow": ("*mail*",)}],
    ids=str,
)
def test_what_a_key_may_not_know_of_is_not_there(served: Served, rules: dict[str, Any]) -> None:
    """E171: not found, not named, not counted, and answered like what does not exist."""
    client = served.as_key(served.key(*ALL - {KeyScope.ADMIN}, **rules))
    answers = [
        client.post("/v1/search", json={"queries": ["raise wages", "read payroll"], "k": 10, "near": 10}),
        client.post("/v1/search", json={"queries": "select:finance__raise_wagez", "explain": True}),
        client.post("/v1/search", json={"queries": "x", "sources": ["financ"], "tags": ["mone"]}),
        client.post("/v1/search", json={"queries": "x", "k": 3, "allow": ["*"], "exclude": ["x"]}),
        client.post("/v1/search/batch", json={"searches": [{"queries": "wages"}, {"queries": "?"}]}),
        client.get("/v1/tools"),
        client.get("/v1/tools", params={"tag": "m"}),
        client.get("/v1/tools/financ__raise_wage"),
        client.get("/v1/catalogs"),
        client.get("/v1/catalogs/default/tools"),
        client.get("/v1/sources"),
        client.get("/v1/sources/financ"),
        client.post("/v1/render", json={"names": ["financ__raise_wage"]}),
        client.post("/v1/sessions/s/search", json={"arguments": {"queries": ["raise wages"], "server": "x"}}),
        client.post("/v1/sessions/s/search", json={"arguments": {"queries": ["raise the wages"]}}),
        client.get("/v1/sessions/s/tools"),
        client.get("/v1/sessions/s/receipt"),
        client.post("/v1/feedback", json={"tool": "x", "outcome": "called"}),
        client.get("/v1/usage"),
        client.get("/openapi.json"),
    ]
    for response in answers:
        said = response.text.lower().replace("raise wage", "").replace("raise the wage", "")
        said = (
            said.replace("financ__raise_wage", "").replace("'financ'", "").replace("finance__raise_wagez", "")
        )
        assert not [word for word in HIDDEN if word in said], response.text
    assert client.get("/v1/tools").json()["total"] == 2
    assert client.get("/v1/catalogs/default").json()["tools"] == 2
    assert client.get("/v1/sessions/s/receipt").json()["catalog_tools"] == 2


def test_a_hidden_tool_is_answered_like_one_that_does_not_exist(served: Served) -> None:
    """E171."""
    client = served.as_key(served.key(*ALL - {KeyScope.ADMIN}, sources=("mail",)))

    def answer(method: str, path: str, body: Any, name: str) -> tuple[int, str]:
        text = json.dumps(body).replace("NAME", name)
        response = client.request(
            method, path.replace("NAME", name), content=text, headers={"Content-Type": "application/json"}
        )
        told = {key: value for key, value in response.json().items() if key != "request_id"}
        return response.status_code, json.dumps(told).replace(name, "NAME")

    for method, path, body in (
        ("GET", "/v1/tools/NAME", None),
        ("PATCH", "/v1/tools/NAME", {"title": "x"}),
        ("DELETE", "/v1/tools/NAME", None),
        ("POST", "/v1/sessions/s/load", {"names": ["NAME"]}),
        ("POST", "/v1/render", {"names": ["NAME"]}),
        ("POST", "/v1/feedback", {"tool": "NAME", "outcome": "called"}),
    ):
        hidden = answer(method, path, body, "finance__raise_wages")
        missing = answer(method, path, body, "absent__qqqqq_zzzzz")
        assert hidden == missing
        assert hidden[0] == 404
    assert answer("GET", "/v1/sources/NAME", None, "finance") == answer(
        "GET", "/v1/sources/NAME", None, "zzz"
    )
    assert answer("DELETE", "/v1/sources/NAME", None, "finance")[0] == 404


def test_a_session_that_another_key_has_filled_gives_no_hidden_tool(served: Served) -> None:
    """E171: two keys of one tenant share a session, and not what each may know of."""
    whole = served.as_key(served.key(tenant="acme"))
    part = served.as_key(served.key(tenant="acme", sources=("mail",)))
    names = ["finance__raise_wages", "mail__send_email"]
    assert whole.post("/v1/sessions/s/load", json={"names": names}).json()["discovered"] == names
    assert part.get("/v1/sessions/s").json()["discovered"] == ["mail__send_email"]
    assert "wages" not in part.get("/v1/sessions/s/tools").text


def test_a_key_changes_only_what_it_may_know_of(served: Served) -> None:
    client = served.as_key(served.key(*ALL - {KeyScope.ADMIN}, sources=("mail",)))
    refused = client.put("/v1/tools/finance__x", json={"name": "x", "server": "finance"})
    assert refused.status_code == 403
    body = [{"name": "new", "server": "mail"}, {"name": "x", "server": "finance"}]
    assert client.post("/v1/tools/bulk", json=body).status_code == 403
    replaced = client.put("/v1/catalogs/default/tools", json=[{"name": "new", "server": "mail"}])
    assert (replaced.json()["added"], replaced.json()["removed"]) == (1, 2)
    left = served.as_key(served.key()).get("/v1/tools").json()["tools"]
    assert [tool["name"] for tool in left] == ["finance__raise_wages", "finance__read_payroll", "mail__new"]


def test_a_hidden_change_leaves_the_version_of_a_catalog_as_it_is(served: Served) -> None:
    client = served.as_key(served.key(sources=("mail",)))
    manager = served.as_key(served.key(KeyScope.ADMIN))
    before = client.get("/v1/catalogs/default").headers["etag"]
    assert manager.put("/v1/tools/finance__x", json={"name": "x", "server": "finance"}).status_code == 201
    assert client.get("/v1/catalogs/default").headers["etag"] == before
    assert manager.put("/v1/tools/mail__x", json={"name": "x", "server": "mail"}).status_code == 201
    assert client.get("/v1/catalogs/default").headers["etag"] != before


def test_tenants_share_nothing(served: Served) -> None:
    """E155."""
    one, other = served.as_key(served.key()), served.as_key(served.key())
    one.post("/v1/sessions/s/load", json={"names": ["mail__send_email"]})
    one.post("/v1/feedback", json={"tool": "mail__send_email", "outcome": "called"})
    one.post("/v1/search", json={"queries": "mail"})
    assert other.get("/v1/sessions/s").json()["discovered"] == []
    assert "mail__send_email" not in other.get("/v1/sessions/s/tools").text
    assert other.get("/v1/feedback").json()["feedback"] == []
    assert other.get("/v1/usage").json()["total"]["searches"] == 0
    assert one.get("/v1/usage").json()["total"]["searches"] == 1


def test_the_first_key_can_make_others(served: Served) -> None:
    refused = served.http.post("/v1/keys", json={"name": "x", "scopes": ["search"]})
    assert refused.status_code == 400
    made = served.http.post("/v1/keys", json={"name": "x", "scopes": ["admin"]}).json()
    assert served.http.get("/v1/tools").status_code == 401
    assert served.as_key(made["secret"]).post("/v1/keys", json={"name": "y"}).status_code == 201


def test_a_revoked_key_counts_no_more(served: Served) -> None:
    secret = served.key()
    client, admin = served.as_key(secret), served.as_key(served.key(KeyScope.ADMIN))
    assert client.get("/v1/tools").status_code == 200
    assert admin.delete(f"/v1/keys/{secret.split('_')[1]}").status_code == 204
    assert client.get("/v1/tools").status_code == 401
    assert admin.delete("/v1/keys/none").status_code == 404


def test_what_another_process_does_to_the_keys_counts_within_a_second() -> None:
    now = [0.0]
    with SqliteDatabase() as database:
        first, second = (KeyCheck(database, clock=lambda: now[0]) for _ in range(2))
        made = first.add(NewKey(name="x", scopes=frozenset({KeyScope.ADMIN})), now=0)
        header = f"Bearer {made.secret}".encode()
        assert (second.is_stale, second.has_keys) == (False, False)
        now[0] = 1.0
        assert second.is_stale
        second.refresh()
        assert second.caller(header).may(KeyScope.MANAGE)


def test_neither_arguments_nor_results_nor_queries_are_logged(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """E168: not even where the service fails."""
    searcher = served.app.state.service.catalog.searcher

    def fail(request: object, **_: object) -> None:
        raise RuntimeError(f"s3cr3t {request!r}")

    with caplog.at_level(logging.DEBUG):
        served.http.post("/v1/search", json={"queries": "s3cr3t-query"})
        searcher.search_many = fail
        failed = served.http.post("/v1/search", json={"queries": "s3cr3t-query"})
        served.http.get("/v1/tools/s3cr3t")
        served.http.put("/v1/tools/s3cr3t", json={"name": "x", "description": "s3cr3t"})
    assert (failed.status_code, failed.json()["detail"]) == (500, "The service failed. Its log says more.")
    ours = [record for record in caplog.records if not record.name.startswith("http")]
    assert any("RuntimeError" in record.getMessage() for record in ours)
    assert not [record for record in ours if "s3cr3t" in record.getMessage() + str(record.exc_info)]


def test_an_answer_is_given_again_to_the_key_that_had_it_alone(served: Served) -> None:
    whole = served.as_key(served.key(tenant="acme"))
    part = served.as_key(served.key(tenant="acme", sources=("mail",)))
    load: dict[str, Any] = {
        "url": "/v1/sessions/s/load",
        "json": {"names": ["finance__raise_wages"]},
        "headers": {"Idempotency-Key": "k"},
    }
    assert whole.post(**load).status_code == 200
    assert part.post(**load).status_code == 404


def test_who_may_not_change_the_catalog_sends_no_upload() -> None:
    with service(TOOLS, max_body_bytes=2000) as served:
        body = [{"name": "x", "server": "mail", "description": "a " * 2000}]
        reader = served.as_key(served.key())
        assert reader.post("/v1/tools/bulk", json=body).status_code == 413
        manager = served.as_key(served.key(KeyScope.MANAGE))
        assert manager.post("/v1/tools/bulk", json=body).status_code == 200
