"""Takes the pictures of docs/ui.md again: ``python -m tests.server.ui.screenshots [DIR]``."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from tests.server.ui.browser import Page, Scheme, browsing
from tests.server.ui.demo import converse, demo, use

FOLDER = Path(__file__).parents[3] / "docs" / "ui"
QUERY = "#/search?q=give%20the%20customer%20their%20money%20back"

# File, place of the page, what is there once it is drawn, scheme, width and height.
SHOTS: tuple[tuple[str, str, str, Scheme, int, int], ...] = (
    ("search.png", QUERY, ".sent pre", "light", 1280, 860),
    ("search-phone-dark.png", QUERY, ".sent pre", "dark", 390, 844),
    (
        "catalog-dark.png",
        "#/catalog/shopfront__orders_refund?source=shopfront",
        ".tool pre",
        "dark",
        1280,
        860,
    ),
    ("sessions.png", "#/sessions/ticket-4711", ".round", "light", 1280, 860),
    ("lint.png", "#/lint", ".finding", "light", 1280, 700),
    ("usage-dark.png", "#/usage", ".chart svg", "dark", 1280, 900),
    ("usage-phone.png", "#/usage", ".chart svg", "light", 390, 844),
)


def main() -> int:
    """Write all pictures into a folder, docs/ui by default."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with demo() as (app, url), browsing() as browser:
        use(app)
        converse(url)
        for name, place, drawn, scheme, width, height in SHOTS:
            with browser.page(width=width, height=height, scheme=scheme) as page:
                path = folder / name
                path.write_bytes(picture(page, f"{url}/ui/{place}", drawn))
                print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return 0


def picture(page: Page, url: str, drawn: str) -> bytes:
    """What is seen at an address once there is a `drawn`, as a small PNG."""
    page.open(url)
    page.wait(f"document.querySelector({drawn!r}) && !document.querySelector('.loading')")
    page.run("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    page.run("document.activeElement?.blur()")
    image = Image.open(io.BytesIO(page.png())).convert("RGB")
    out = io.BytesIO()
    image.quantize(128, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
