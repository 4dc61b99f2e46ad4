"""The page without a mouse, and for who does not see it."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")
pytest.importorskip("websockets", reason="needs websockets")

from tests.server.ui.browser import Page

VIEWS = {
    "search": ("#/search?q=refund%20an%20order", ".sent pre"),
    "catalog": ("#/catalog/shopfront__orders_refund", ".tool pre"),
    "sessions": ("#/sessions/ticket-4711", ".round"),
    "lint": ("#/lint", ".finding"),
    "usage": ("#/usage", ".chart svg"),
}
FOCUS = "document.activeElement"


def drawn(page: Page, url: str, view: str) -> None:
    place, element = VIEWS[view]
    page.open(url + place)
    page.wait(f"document.querySelector('{element}') && !document.querySelector('.loading')")


def test_the_first_stop_leads_past_the_navigation(page: Page, url: str) -> None:
    drawn(page, url, "usage")
    page.press("Tab")
    assert page.run(f"{FOCUS}.textContent") == "Skip to content"
    assert page.run(f"{FOCUS}.getBoundingClientRect().top") >= 0
    page.press("Enter")
    assert page.run(f"{FOCUS}.id") == "main"
    page.press("Tab")
    assert page.run(f"{FOCUS}.closest('main') !== null")
    assert page.run("location.hash") == "#/usage"


@pytest.mark.parametrize("view", ["search", "catalog"])
def test_a_slash_leads_to_the_field(page: Page, url: str, view: str) -> None:
    drawn(page, url, view)
    page.run(f"{FOCUS}.blur()")
    page.press("/")
    assert page.run(f"{FOCUS}.hasAttribute('data-search')")
    before = page.run(f"{FOCUS}.value")
    page.press("End", "/")
    assert page.run(f"{FOCUS}.value") == f"{before}/"


@pytest.mark.parametrize(
    ("view", "items"),
    [("search", ".hit"), ("catalog", ".items li"), ("sessions", ".items li"), ("lint", ".finding")],
)
def test_arrows_go_through_a_list_which_is_one_stop(page: Page, url: str, view: str, items: str) -> None:
    drawn(page, url, view)
    at = f"[...document.querySelectorAll('{items}')].indexOf({FOCUS}.closest('{items}'))"
    n = page.run(f"document.querySelectorAll('{items}').length")
    assert page.run(f"document.querySelectorAll('{items} [data-item][tabindex=\"0\"]').length") == 1
    page.run(f"document.querySelector('{items} [data-item]').focus()")
    seen = [page.run(at)]
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "ArrowDown", "Home", "ArrowUp"):
        page.press(key)
        seen.append(page.run(at))
    assert seen == [0, 1, 2, 1, n - 1, n - 1, 0, 0]
    page.press("ArrowDown", "Tab", "Shift+Tab")
    assert page.run(at) == 1


def test_enter_opens_what_the_arrows_have_reached(page: Page, url: str) -> None:
    drawn(page, url, "search")
    page.run("document.querySelector('[data-item]').focus()")
    page.press("ArrowDown")
    name = page.run(f"{FOCUS}.textContent")
    page.press("Enter")
    page.wait("document.querySelector('.tool h2')")
    assert page.text(".tool h2") == name


@pytest.mark.parametrize("view", list(VIEWS))
def test_tab_goes_through_everything_and_is_caught_nowhere(page: Page, url: str, view: str) -> None:
    drawn(page, url, view)
    page.run("document.body.focus()")
    stops: list[int] = []
    page.run("window.stops = []")
    for _ in range(120):
        page.press("Tab")
        stop = page.run(
            f"(() => {{ const now = {FOCUS}; if (now === document.body) return -1;"
            " if (!window.stops.includes(now)) window.stops.push(now); return window.stops.indexOf(now); })()"
        )
        if stops and stop in {-1, 0}:
            break
        stops.append(stop)
    else:
        raise AssertionError(f"no way out after {len(stops)} stops")
    assert stops == list(range(len(stops)))
    # Everything that can be used was reached, but for items beside the one of their list.
    usable = "a[href], button:not([disabled]), input, select, summary, pre[tabindex], [role=region][tabindex]"
    missed = page.run(
        f"[...document.querySelectorAll({usable!r})].filter((each) => each.checkVisibility()"
        " && each.tabIndex >= 0 && !window.stops.includes(each)).map((each) => each.outerHTML.slice(0, 200))"
    )
    assert missed == []


@pytest.mark.parametrize("view", list(VIEWS))
def test_where_the_focus_is_can_be_seen(page: Page, url: str, view: str) -> None:
    drawn(page, url, view)
    for _ in range(12):
        page.press("Tab")
        shown = page.run(
            f"(() => {{ const {{ outlineStyle, outlineWidth }} = getComputedStyle({FOCUS});"
            " return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1; })()"
        )
        assert shown, page.run(f"{FOCUS}.outerHTML.slice(0, 200)")


@pytest.mark.parametrize("view", list(VIEWS))
def test_everything_that_can_be_used_has_a_name(page: Page, url: str, view: str) -> None:
    drawn(page, url, view)
    page.send("Accessibility.enable")
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    roles = {
        "button",
        "link",
        "searchbox",
        "textbox",
        "combobox",
        "checkbox",
        "image",
        "region",
        "list",
        "group",
    }
    seen = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in roles
    ]
    assert len(seen) > 10
    nameless = [role for role, name in seen if not name and role not in {"list", "group"}]
    assert nameless == []
    assert page.run("document.querySelectorAll('h1').length") == 1
    assert page.run("document.documentElement.lang") == "en"
    ids = page.run("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    broken = page.run(
        "[...document.querySelectorAll('[aria-labelledby],[aria-describedby]')].flatMap((each) => "
        "`${each.getAttribute('aria-labelledby') ?? ''} ${each.getAttribute('aria-describedby') ?? ''}`"
        ".trim().split(/\\s+/)).filter((id) => !document.getElementById(id))"
    )
    assert broken == []


def test_a_new_view_is_told_of(page: Page, url: str) -> None:
    drawn(page, url, "search")
    page.click("[data-view=lint]")
    page.wait("document.querySelector('.finding')")
    assert page.run(f"{FOCUS}.tagName + {FOCUS}.textContent") == "H1Lint"
    assert page.run("document.querySelector('[aria-current=page]').textContent") == "Lint"
    assert page.run("document.title") == "Lint · toolsearch"
    page.wait("document.getElementById('status').textContent === '109 findings.'")
