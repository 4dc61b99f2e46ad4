"""What catalogs and people write stays text; keys stay in their tab; nothing else is asked."""

from urllib.parse import quote

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")
pytest.importorskip("websockets", reason="needs websockets")

from tests.server.support import service
from tests.server.ui.browser import Browser, Page
from tests.server.ui.test_keyboard import VIEWS, drawn
from toolsearch.api.scopes import KeyScope
from toolsearch.tools import Tool

EVIL = (
    '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'
    "</pre></code><svg onload='window.hacked = 1'><a href='javascript:window.hacked=1'>refund</a>"
    "\u202etxet\u202c {{7*7}} ${alert(1)} &lt;b&gt;"
)
HOSTILE = Tool(
    raw_name="refund",
    source="bank",
    title=EVIL,
    description=f"Refund an order. {EVIL}",
    tags=(EVIL[:60], '"><b>tag</b>'),
    input_schema={
        "type": "object",
        "properties": {
            EVIL: {"type": "string", "format": EVIL, "description": EVIL},
            "__proto__": {"enum": [EVIL, None]},
            "anything": True,
            "list": {"type": "array", "items": {"anyOf": [{"type": ["string", "null"]}, {"type": "array"}]}},
        },
        "required": [EVIL],
    },
)
INSERTED = "document.querySelectorAll('main :is(img, script, iframe, b, a[href^=\"javascript\"])').length"


@pytest.mark.parametrize("view", list(VIEWS))
def test_a_hostile_catalog_is_shown_as_text(page: Page, view: str) -> None:
    with service((HOSTILE,)) as served:
        served.http.get("/v1/sessions/ticket-4711/tools")
        body = {"arguments": {"queries": [f"refund {EVIL}"[:300]]}}
        served.http.post("/v1/sessions/ticket-4711/search", json=body)
        served.http.post("/v1/search", json={"queries": "refund"})
        place, element = VIEWS[view]
        place = place.replace("shopfront__orders_refund", "bank__refund")
        page.open(f"{served.url}/ui/{place}")
        page.wait(f"document.querySelector('{element}') && !document.querySelector('.loading')")
        if view in {"search", "catalog"}:
            assert "<img src=x onerror" in page.text("main")
        assert page.run(INSERTED) == 0
        assert page.run("window.hacked ?? null") is None
        assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_a_hostile_address_is_shown_as_text(page: Page, url: str) -> None:
    for place in (
        f"#/search?q={quote(EVIL)}",
        f"#/catalog/{quote(EVIL, safe='')}",
        "#/catalog/%",
        "#/__proto__",
        "#//",
    ):
        page.open(url + place)
        page.wait("document.querySelector('h1') && !document.querySelector('.loading')")
        assert page.run(INSERTED) == 0
        assert page.run("window.hacked ?? null") is None
    # There are no such tools.
    assert all("404" in said or "422" in said for said in page.refused)
    page.refused.clear()


def test_the_browser_refuses_html_from_text_and_scripts_from_elsewhere(page: Page, url: str) -> None:
    page.open(url)
    inner = "document.body.innerHTML = '<b>x</b>'"
    told = page.run(f"(() => {{ try {{ {inner}; return 'done'; }} catch (e) {{ return e.name; }} }})()")
    assert told == "TypeError"
    page.run(
        "new Promise((done) => { const s = document.createElement('style');"
        " s.textContent = 'h1 { color: red }'; document.head.append(s); requestAnimationFrame(done); })"
    )
    assert page.run("getComputedStyle(document.querySelector('h1')).color") != "rgb(255, 0, 0)"
    asked = page.run("fetch('http://127.0.0.1:9/').then(() => 'done', (e) => e.name)")
    assert asked == "TypeError"
    assert page.errors
    assert all("policy" in said.lower() or "trustedhtml" in said.lower() for said in page.errors), page.errors
    page.errors.clear()
    page.refused.clear()


def test_nothing_is_asked_of_anybody_else(page: Page, url: str) -> None:
    for view in VIEWS:
        drawn(page, url, view)
    own = url.removesuffix("ui/")
    assert len(page.requested) > 20
    assert {asked for asked in page.requested if not asked.startswith(own)} <= {"about:blank"}
    kept = page.run("[document.cookie, localStorage.length, sessionStorage.length]")
    assert kept == ["", 0, 0]


def test_a_key_is_asked_for_where_one_is_needed_and_no_earlier(browser: Browser) -> None:
    with service() as served:
        key = served.key(deny=("mail__send_email",))
        with browser.page() as page:
            page.open(f"{served.url}/ui/#/catalog")
            page.wait("document.getElementById('key-dialog').open")
            assert page.run("document.activeElement.id") == "key"
            page.type("wrong key")
            page.press("Enter")
            assert page.run("document.getElementById('key-dialog').open")
            page.run("document.getElementById('key').value = ''")
            page.type("ts_wrong")
            page.press("Enter")
            page.wait("document.getElementById('key-why').textContent.includes('does not take this key')")
            page.wait("document.getElementById('key-dialog').open")
            page.type(key)
            page.press("Enter")
            page.wait("document.querySelector('.item')")
            # What the key may not know of is not there.
            names = page.texts(".item .tool-name")
            assert "mail__send_email" not in names
            assert len(names) == len(served.as_key(key).get("/v1/tools").json()["tools"])
            assert key not in page.run("document.documentElement.outerHTML")
            assert page.run("[document.cookie, localStorage.length]") == ["", 0]
            page.open(f"{served.url}/ui/#/catalog/mail__send_email")
            page.wait("document.querySelector('.problem')")
            page.click("#forget-key")
            page.wait("document.getElementById('key-dialog').open")
            assert page.run("sessionStorage.length") == 0
            page.press("Escape")
            page.wait("document.querySelector('.problem')")
            assert page.text(".problem button") == "Enter a key"
            page.click(".problem button")
            page.wait("document.getElementById('key-dialog').open")
            assert page.errors == []
            assert all("401" in said or "404" in said for said in page.refused)


def test_a_key_that_may_not_search_is_told_so(browser: Browser) -> None:
    with service() as served, browser.page() as page:
        key = served.key(KeyScope.MANAGE)
        page.open(f"{served.url}/ui/#/usage")
        page.wait("document.getElementById('key-dialog').open")
        page.type(key)
        page.press("Enter")
        page.wait("document.querySelector('.problem')")
        assert "lacks the scope 'search'" in page.text(".problem")
        assert not page.run("document.getElementById('key-dialog').open")


def test_without_keys_nobody_is_asked_for_one(page: Page, url: str) -> None:
    drawn(page, url, "search")
    assert not page.run("document.getElementById('key-dialog').open")
    assert not page.run("document.getElementById('forget-key').checkVisibility()")
