"""Each view of the page, over the demo index."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")
pytest.importorskip("websockets", reason="needs websockets")

from tests.server.support import service
from tests.server.ui.browser import Browser, Page
from toolsearch import Client
from toolsearch.tokens import count_tokens

QUERY = "#/search?q=refund%20an%20order"


def test_a_query_shows_hits_with_the_parts_of_their_scores(page: Page, url: str) -> None:
    page.open(url)
    page.wait("document.querySelector('main .state-title')")
    assert "374 tools of 22 servers" in page.text("main")
    page.type("refund an order")
    page.press("Enter")
    page.wait("document.querySelectorAll('.hit').length")
    with Client(url.removesuffix("/ui/")) as client:
        found = client.search("refund an order", explain=True)
    assert page.texts(".hit .tool-name") == list(found.names)
    first = found.hits[0]
    assert first.channels is not None
    assert page.text(".hit [data-channel=dense] .channel-value") == f"{first.channels['dense']:.2f}"
    assert page.text(".hit [data-channel=lexical] .channel-value") == f"{first.channels['lexical']:.2f}"
    assert page.text(".hit [data-channel=score] .channel-value") == f"{first.score:.2f}"
    width = page.run("Number(document.querySelector('.hit .dense .bar-value').getAttribute('width'))")
    assert width == pytest.approx(100 * first.channels["dense"], abs=0.01)
    assert found.confidence is not None
    assert f"{found.confidence:.0%}"[:2] in page.text(".facts")
    assert f"{found.spared_tokens:,} tokens" in page.text(".facts")
    assert page.run("location.hash") == "#/search?q=refund+an+order"
    assert page.run("document.title") == "Search · toolsearch"


def test_what_the_model_is_sent_is_shown_in_every_form_with_its_cost(page: Page, url: str) -> None:
    page.open(url + QUERY)
    page.wait("document.querySelector('.sent pre')")
    assert page.run("JSON.parse(document.querySelector('.sent pre').textContent)[0].type") == "function"
    page.choose(".sent select", "anthropic")
    page.wait("document.querySelector('.sent pre').textContent.includes('\"input_schema\"')")
    compact = page.run("JSON.stringify(JSON.parse(document.querySelector('.sent pre').textContent))")
    assert f"{count_tokens(compact):,} tokens in this form" in page.text(".sent-code")
    with Client(url.removesuffix("/ui/")) as client:
        found = client.search("refund an order")
        whole = client.get_catalog().tokens
    assert found.returned_tokens is not None
    assert f"{found.returned_tokens:,} tokens" in page.text(".costs")
    assert f"{whole:,} tokens" in page.text(".costs")
    forms = page.run("[...document.querySelectorAll('.sent select option')].map((each) => each.value)")
    for form in forms:
        page.choose(".sent select", form)
        page.wait("!document.querySelector('.sent-code .loading') && document.querySelector('.sent pre')")
    assert len(forms) == 8
    page.choose(".sent select", "openai_chat")


def test_a_request_that_nothing_serves_is_answered_so(page: Page, url: str) -> None:
    page.open(url + "#/search?q=%22quantum%20llama%20shearing%20in%20the%20alps%22")
    page.wait("document.querySelector('.empty')")
    assert page.text("main .state-title") == "Nothing fits"
    assert page.texts(".empty .nearest .tool-name")
    page.wait("document.getElementById('status').textContent === 'No tool fits.'")
    page.open(url + "#/search?q=refund&source=no-such-server")
    page.wait("document.querySelector('[name=source]').value === 'no-such-server'")
    page.wait("document.querySelector('.note')")
    assert "no-such-server" in page.text(".note")


def test_searches_can_be_gone_back_to(page: Page, url: str) -> None:
    page.open(url + QUERY)
    page.wait("document.querySelector('.hit')")
    page.open(url + "#/search?q=weather%20forecast&most=5")
    page.wait("document.querySelector('.hit .tool-name')?.innerText.includes('weather')")
    page.run("history.back()")
    page.wait("document.querySelector('.hit .tool-name')?.innerText.includes('refund')")
    assert page.run("document.querySelector('[name=q]').value") == "refund an order"
    assert page.run("document.querySelector('[name=most]').value") == "10"


def test_the_catalog_is_filtered_by_text_server_and_tag(page: Page, url: str) -> None:
    page.open(url + "#/catalog")
    page.wait("document.querySelectorAll('.item').length === 60")
    assert page.text(".catalog-list .hint") == "374 tools"
    page.click(".more")
    page.wait("document.querySelectorAll('.item').length === 120")
    page.run("document.querySelector('[name=text]').focus()")
    page.type("REFUND")
    with Client(url.removesuffix("/ui/")) as client:
        expected = [tool.name for tool in client.list_tools(text="refund").tools]
        of_shop = [tool.name for tool in client.list_tools(text="refund", source="shopfront").tools]
    page.wait(f"document.querySelectorAll('.item').length === {len(expected)}")
    assert page.texts(".item .tool-name") == expected
    page.wait("document.querySelector('[name=source]').options.length === 23")
    page.choose("[name=source]", "shopfront")
    page.wait(f"document.querySelectorAll('.item').length === {len(of_shop)}")
    assert page.run("location.hash") == "#/catalog?text=REFUND&source=shopfront"
    page.choose("[name=tag]", "orders")
    page.wait("document.querySelector('.item .tool-name')?.innerText === 'shopfront__orders_cancel'")
    page.open(url + "#/catalog?text=zzzz")
    page.wait("document.querySelector('.catalog-list .empty')")


def test_a_tool_is_shown_with_its_arguments_and_its_whole_definition(page: Page, url: str) -> None:
    page.open(url + "#/catalog")
    page.wait("document.querySelector('.item')")
    page.open(url + "#/catalog/shopfront__orders_refund")
    page.wait("document.querySelector('.tool pre')")
    with Client(url.removesuffix("/ui/")) as client:
        tool = client.get_tool("shopfront__orders_refund")
    assert page.run("JSON.parse(document.querySelector('.tool pre').textContent)") == tool.definition
    assert page.text(".tool-text") == tool.definition["description"]
    assert page.texts(".arguments code") == list(tool.definition["input_schema"]["properties"])
    assert "required" in page.texts(".arguments li")[0]
    assert f"{tool.tokens} tokens" in page.text(".tool")
    page.open(url + "#/catalog/no_such_tool")
    page.wait("document.querySelector('.catalog-detail .problem')")
    assert "no_such_tool" in page.text(".problem")
    assert len(page.refused) == 1
    page.refused.clear()


def test_a_session_is_watched_while_it_goes_on(page: Page, url: str) -> None:
    with Client(url.removesuffix("/ui/")) as client:
        client.session_tools("watched", "anthropic")
        page.open(url + "#/sessions")
        page.wait("document.querySelectorAll('.item').length === 4")
        assert page.texts(".item .tool-name")[0] == "watched"
        page.click(".item")
        page.wait("document.querySelectorAll('.round').length === 1")
        found = client.session_search("watched", {"queries": ["refund an order"], "limit": 2})
        client.session_tools("watched", "anthropic")
        page.wait("document.querySelectorAll('.round').length === 2")
        rounds = client.session_rounds("watched")
    assert page.texts(".event .tool-name") == list(found.discovered)
    assert page.text(".event q") == "refund an order"
    first, second = rounds.rounds
    told = first.events[0].tokens
    assert told is not None
    assert f"{first.tokens + second.tokens + told:,} tokens" in page.text(".costs")
    assert f"{2 * rounds.catalog_tokens:,} tokens" in page.text(".costs")
    assert page.text(".live").startswith("Live")
    page.run("document.querySelector('.heading button').click()")
    page.wait("document.querySelector('.live').textContent === 'Paused'")
    assert page.run("document.querySelector('.heading button').getAttribute('aria-pressed')") == "true"


def test_findings_are_filtered_and_lead_to_their_tools(page: Page, url: str) -> None:
    page.open(url + "#/lint")
    page.wait("document.querySelectorAll('.finding').length === 100")
    assert page.texts(".one-of button") == ["All 109", "Errors 0", "Warnings 34", "Notes 75"]
    page.click(".more")
    page.wait("document.querySelectorAll('.finding').length === 109")
    page.click("[data-value=warning]")
    page.wait("document.querySelectorAll('.finding').length === 34")
    assert page.run("location.hash") == "#/lint?severity=warning"
    page.click("[data-value=error]")
    page.wait("document.querySelector('.empty')")
    page.click("[data-value='']")
    page.wait("document.querySelector('.finding')")
    page.choose("[name=code]", "name-shared")
    page.wait("document.querySelectorAll('.finding').length === 4")
    name = page.text(".finding .tool-name")
    page.click(".finding .tool-name")
    page.wait("document.querySelector('.tool h2')")
    assert page.text(".tool h2") == name


def test_usage_is_drawn_and_told_as_a_table(page: Page, url: str) -> None:
    page.open(url + "#/usage")
    page.wait("document.querySelectorAll('.chart svg').length === 4")
    with Client(url.removesuffix("/ui/")) as client:
        days = {day.day: day for day in client.get_usage().days}
    titles = ["Searches a day", "Tokens returned a day", "Tokens spared a day", "Tokens spared in all"]
    assert page.texts(".chart h2") == titles
    assert page.run("document.querySelectorAll('.chart svg')[1].querySelectorAll('.column').length") == 30
    tick_texts = "document.querySelector('.chart svg').querySelectorAll('.tick text')"
    ticks = page.run(f"[...{tick_texts}].map((tick) => tick.textContent)")
    assert len(ticks) == 5
    assert ticks[0] == "0"
    labels = page.run("document.querySelector('.chart svg').querySelectorAll('.label').length")
    assert 3 <= labels <= 10
    rows = page.run(
        "[...document.querySelectorAll('.chart')[2].querySelectorAll('tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    assert rows == [[day, f"{days[day].spared_tokens:,}"] for day in sorted(days, reverse=True)]
    page.click("[data-value='7']")
    page.wait("document.querySelectorAll('.chart svg')[1]?.querySelectorAll('.column').length === 7")


def test_columns_are_as_high_as_their_numbers(page: Page, url: str) -> None:
    page.open(url + "#/usage")
    page.wait("document.querySelectorAll('.chart svg').length === 4")
    heights, labels = page.run(
        "(() => { const all = [...document.querySelectorAll('.chart')[2].querySelectorAll('.column')];"
        " return [all.map((c) => Number(c.getAttribute('height'))), all.map((c) => c.textContent)]; })()"
    )
    values = [int(label.split(": ")[1].split()[0].replace(",", "")) for label in labels]
    scale = heights[0] / values[0]
    assert heights == pytest.approx([value * scale for value in values], abs=0.02)


def test_a_service_with_nothing_in_it_says_so(page: Page) -> None:
    with service((), keep_rounds=False) as served:
        for view, said in (
            ("search", "no tools yet"),
            ("catalog", "No tool passes"),
            ("sessions", "keep_rounds is off"),
            ("lint", "Nothing to say"),
            ("usage", "Nothing was used"),
        ):
            page.open(f"{served.url}/ui/#/{view}")
            page.wait(f"document.querySelector('main').innerText.includes({said!r})")


def test_a_service_that_is_gone_is_told_and_can_be_asked_again(browser: Browser) -> None:
    with browser.page() as page:
        with service() as served:
            page.open(f"{served.url}/ui/#/usage")
            page.wait("document.querySelector('.empty')")
        page.click("[data-value='7']")
        page.wait("document.querySelector('.problem')")
        assert page.text(".problem button") == "Try again"
        assert page.errors == []


def test_an_index_that_is_not_loaded_yet_is_waited_for(page: Page) -> None:
    with service() as served:
        catalog = served.app.state.service.catalog
        searcher, catalog._searcher = catalog._searcher, None
        page.open(f"{served.url}/ui/#/catalog")
        page.wait("document.querySelector('.loading')")
        catalog._searcher = searcher
        page.wait("document.querySelector('.item')")
        assert all("503" in said for said in page.refused)
        page.refused.clear()
