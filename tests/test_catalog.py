"""A catalog answers by name."""

import pytest

from toolsearch.catalog import Catalog
from toolsearch.exceptions import UnknownToolError
from toolsearch.tools import Tool

CATALOG = Catalog(Tool(raw_name=name, source="shop") for name in ("get_order", "list_orders", "pay"))


@pytest.mark.parametrize("ask", [lambda name: CATALOG[name], CATALOG.without], ids=["item", "without"])
def test_a_name_that_is_not_there_is_told_with_names_that_come_near(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(UnknownToolError) as caught:
        ask("get_orders")
    assert caught.value.near[0] == "shop__get_order"
    assert str(caught.value).startswith("Unknown tool 'get_orders'. Did you mean 'shop__get_order'")


def test_a_name_like_no_other_is_told_alone() -> None:
    with pytest.raises(UnknownToolError, match=r"^Unknown tool 'zzz'\.$"):
        CATALOG["zzz"]


def test_get_gives_the_default_for_a_name_that_is_not_there() -> None:
    assert CATALOG.get("shop__pay") is CATALOG["shop__pay"]
    assert CATALOG.get("pay") is None
    assert CATALOG.get("pay", 7) == 7
