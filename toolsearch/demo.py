"""The demo catalog and the requests that show what a search answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolsearch.exceptions import CatalogFileError

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE / "demo_data", _PACKAGE.parent / "indexes" / "demo")


@dataclass(frozen=True)
class ShowcaseRequest:
    """A request, by one or several queries, and what it is there to show."""

    shows: str
    queries: tuple[str, ...]


SHOWCASE = (
    ShowcaseRequest("a direct request", ("open an issue about the login page in our repository",)),
    ShowcaseRequest("other words than the tool's", ("the customer wants her money back",)),
    ShowcaseRequest(
        "several requests at once",
        ("put lunch with Ana on Friday into my calendar", "book a hotel in Lisbon"),
    ),
    ShowcaseRequest("a tool by its name", ("listProjects",)),
    ShowcaseRequest("a request that nothing serves", ("water the tomatoes in my greenhouse",)),
)


def demo_folder() -> Path:
    """The folder of the demo's ``catalog`` and ``queries``, in the package or the source checkout.

    Raises:
        CatalogFileError: it is in neither place.
    """
    for place in _PLACES:
        if (place / "catalog").is_dir():
            return place
    raise CatalogFileError(_PLACES[0], "the demo catalog is not there. Install the package again.")
