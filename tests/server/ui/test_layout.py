"""The page on phones, and in light and dark."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")
pytest.importorskip("websockets", reason="needs websockets")

from tests.server.ui.browser import Browser, Page, Scheme
from tests.server.ui.test_keyboard import VIEWS, drawn

WIDER = """[...document.querySelectorAll('body *')].filter((each) => {
  if (!each.checkVisibility() || each.closest('.scroll, .unseen, .skip')) return false;
  // What an ellipsis stands for is cut.
  if (each.closest('.item-text > *')) return false;
  const box = each.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1);
}).map((each) => each.outerHTML.slice(0, 120))"""

# Every text with the contrast to what is behind it: WCAG 2.2, relative luminance.
CONTRASTS = """(() => {
  const rgb = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const channel = (value) => linear(value / 255);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = rgb(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility() || element.closest('.unseen, .skip, option')) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const style = getComputedStyle(element);
    const color = rgb(element instanceof SVGElement ? style.fill : style.color);
    const [high, low] = [light(color), light(ground(element))].sort((a, b) => b - a);
    found.push([(high + 0.05) / (low + 0.05), element.textContent.slice(0, 40)]);
  }
  return found;
})()"""


@pytest.mark.parametrize("width", [360, 390, 768])
@pytest.mark.parametrize("view", list(VIEWS))
def test_nothing_is_wider_than_a_phone(page: Page, url: str, view: str, width: int) -> None:
    page.resize(width, 740)
    drawn(page, url, view)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(WIDER) == []


@pytest.mark.parametrize(
    "place",
    ["#/search", "#/catalog", "#/sessions", "#/search?q=%22quantum%20llama%22", "#/lint?severity=error"],
)
def test_lists_and_what_is_empty_fit_a_phone_too(page: Page, url: str, place: str) -> None:
    page.resize(360, 740)
    page.open(url + place)
    page.wait("document.querySelector('.state, .items') && !document.querySelector('.loading')")
    assert page.run("document.documentElement.scrollWidth") <= 360
    assert page.run(WIDER) == []


def test_on_a_phone_a_tool_takes_the_place_of_the_list_and_leads_back(page: Page, url: str) -> None:
    page.resize(360, 740)
    page.open(url + "#/catalog?source=shopfront")
    page.wait("document.querySelectorAll('.item').length === 17")
    assert not page.run("document.querySelector('.catalog-detail').checkVisibility()")
    page.click(".item")
    page.wait("document.querySelector('.tool')")
    assert not page.run("document.querySelector('.item').checkVisibility()")
    page.click(".back a")
    page.wait("document.querySelector('.item').checkVisibility()")
    assert page.run("document.querySelectorAll('.item').length") == 17


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", list(VIEWS))
def test_every_text_can_be_read_in_light_and_in_dark(
    browser: Browser, url: str, view: str, scheme: Scheme
) -> None:
    with browser.page(scheme=scheme) as page:
        drawn(page, url, view)
        contrasts = page.run(CONTRASTS)
        assert len(contrasts) > 20
        assert [told for told in contrasts if told[0] < 4.5] == []
        ground = page.run("getComputedStyle(document.documentElement).backgroundColor")
        assert ground == {"light": "rgb(247, 247, 245)", "dark": "rgb(16, 19, 22)"}[scheme]
        assert page.errors == []
