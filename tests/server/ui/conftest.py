"""A browser for all tests of the page, and pages that must not have said a word in the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.ui.browser import MISSING, Browser, Page, browsing, chromium
from tests.server.ui.demo import converse, demo, use


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip(MISSING)
    with browsing() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of 1280 by 900; errors that a test expects are for it to clear."""
    with browser.page() as page:
        yield page
        assert page.errors == []
        assert page.refused == []


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The page over the demo index, with conversations and a month of usage."""
    with demo() as (app, url):
        use(app)
        converse(url)
        yield f"{url}/ui/"
