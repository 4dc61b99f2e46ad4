"""Every name of a tool that a setting of the router gives is looked up in its catalog."""

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.limits import LimitBreach, LoopLimits
from toolsearch.catalog import Catalog
from toolsearch.exceptions import ChainError, ToolSearchError, UnknownToolError
from toolsearch.functions.decorator import tool
from toolsearch.messages import ToolCall
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.router import ToolRouter
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call
from toolsearch.tools import Tool

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool(tags=["orders"])
def refund_order(order: str) -> str:
    """Refund an order."""
    ran.append(order)
    return "Refunded."


def send_email(to: str) -> str:
    """Send an email."""
    ran.append(to)
    return "Sent."


def close(account: str) -> str:
    """Close an account."""
    ran.append(account)
    return "Closed."


CATALOG = Catalog([refund_order, tool(send_email, name="mail"), tool(close, source="bank", name="close.it")])
REFUND, MAIL, CLOSE = "refund_order", "mail", "bank__close_it_"
(CLOSE,) = (name for name in CATALOG if name.startswith("bank"))
CALLS = {
    REFUND: tool_call(REFUND, {"order": "1"}),
    MAIL: tool_call(MAIL, {"to": "2"}),
    CLOSE: tool_call(CLOSE, {"account": "3"}),
}


def router(*script: ToolCall | str, **settings: Any) -> ToolRouter:
    settings.setdefault("pinned", ["*"])
    return ToolRouter(ScriptedChatModel([*script, "Done."]), CATALOG, embedder=HashingEmbedder(), **settings)


def held(**approval: Any) -> set[str]:
    """The tools whose calls wait under these settings."""
    waiting = set()
    for name, call in CALLS.items():
        response = router(call, approval=ApprovalAdvisor(**approval)).run_sync("Do it.")
        waiting |= {name} if response.finish_reason == "paused" else set()
    assert len(ran) == len(CALLS) - len(waiting)
    return waiting


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([REFUND], {REFUND}),
        ([refund_order], {REFUND}),
        (["refund_*"], {REFUND}),
        (["*_order", "ma?l"], {REFUND, MAIL}),
        ([send_email], {MAIL}),
        (["close.it"], {CLOSE}),
        (["bank/close.it"], {CLOSE}),
        (["bank/*"], {CLOSE}),
        ([CLOSE], {CLOSE}),
        ([close], {CLOSE}),
        ([CATALOG[CLOSE]], {CLOSE}),
        ({"mail", "close.it"}, {MAIL, CLOSE}),
    ],
    ids=str,
)
def test_approval_holds_tools_by_whatever_name_they_have(tools: Any, expected: set[str]) -> None:
    assert held(tools=tools) == expected


def a_function() -> str:
    """Not in the catalog."""
    return ""


WRONG: dict[str, tuple[Callable[[], dict[str, Any]], type[ToolSearchError], str]] = {
    "a typing error": (lambda: approving(["refund_ordr"]), UnknownToolError, "mean 'refund_order'"),
    "a glob": (lambda: approving(["refnd_*"]), UnknownToolError, "refnd_"),
    "a function": (lambda: approving([a_function]), UnknownToolError, "'a_function'"),
    "a tool": (lambda: approving([Tool(raw_name="x")]), UnknownToolError, "'x'"),
    "a tag": (lambda: {"approval": ApprovalAdvisor(tags=["money"])}, ChainError, "'money'.*'orders'"),
    "a limit": (lambda: {"limits": LoopLimits(per_tool={"mial": 1})}, UnknownToolError, "mean 'mail'"),
    "denied": (lambda: {"filter": ToolFilter(deny=("refund_ordr",))}, UnknownToolError, "refund_order"),
    "allowed": (lambda: {"filter": ToolFilter(allow=("mial",))}, UnknownToolError, "mean 'mail'"),
    "pinned": (lambda: {"pinned": ["refnd_order"]}, UnknownToolError, "mean 'refund_order'"),
    "among advisors": (
        lambda: {"advisors": [ApprovalAdvisor(tools=["refund_ordr"])]},
        UnknownToolError,
        "mean 'refund_order'",
    ),
}


def approving(tools: list[Any]) -> dict[str, Any]:
    return {"approval": ApprovalAdvisor(tools=tools)}


@pytest.mark.parametrize("case", WRONG)
def test_a_name_that_no_tool_has_is_told_at_once(case: str) -> None:
    settings, error, told = WRONG[case]
    with pytest.raises(error, match=told):
        router(**settings())


@pytest.mark.parametrize("case", [case for case in WRONG if case != "pinned"])
def test_names_of_tools_that_come_later_are_allowed_on_request(case: str) -> None:
    router(**WRONG[case][0](), check_names=False)


def test_names_of_built_in_tools_are_known() -> None:
    router(
        approval=ApprovalAdvisor(tools=["tool_search", REFUND]), limits=LoopLimits(per_tool={"call_tool": 9})
    )


def test_a_newer_catalog_without_a_named_tool_does_not_take_its_place() -> None:
    made = router(approval=ApprovalAdvisor(tools=[refund_order]))
    older = made.catalog
    with pytest.raises(UnknownToolError, match="refund_order"):
        made.catalog = older.without(REFUND)
    assert made.catalog is older


@pytest.mark.parametrize("key", [CLOSE, "close.it", "bank/*", close], ids=str)
def test_a_limit_of_a_tool_is_given_by_whatever_name_it_has(key: Any) -> None:
    calls = (tool_call(CLOSE, {"account": str(n)}, id=str(n)) for n in range(3))
    response = router(*calls, limits=LoopLimits(per_tool={key: 2})).run_sync("Close them.")
    assert response.metadata["limit"] == LimitBreach("calls_per_tool", 2, CLOSE)
    assert ran == ["0", "1"]


def test_a_public_name_goes_before_the_globs_that_fit_it() -> None:
    limits = LoopLimits(per_tool={"*": 1, MAIL: 2})
    calls = (tool_call(MAIL, {"to": str(n)}, id=str(n)) for n in range(3))
    assert router(*calls, limits=limits).run_sync("Write.").metadata["limit"].limit == 2


@pytest.mark.parametrize(
    ("pinned", "offered"),
    [
        ([MAIL, REFUND], [MAIL, REFUND]),
        ([send_email, refund_order], [MAIL, REFUND]),
        (["bank/*", "close.it", "mail"], [CLOSE, MAIL]),
    ],
    ids=str,
)
def test_tools_are_pinned_by_whatever_name_they_have_in_that_order(
    pinned: list[Any], offered: list[str]
) -> None:
    model = ScriptedChatModel(["Hello."])
    ToolRouter(model, CATALOG, embedder=HashingEmbedder(), pinned=pinned).run_sync("Hello?")
    assert [each.name for each in model.requests[0].tools if each.name != "tool_search"] == offered


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (lambda: {"pinned": REFUND}, r"pinned is the text 'refund_order'\. Give a collection"),
        (lambda: {"pinned": [7]}, r"pinned\[0\] is 7\. Give a name, a function or a Tool"),
        (lambda: {"approval": ApprovalAdvisor(tools=REFUND)}, "tools is the text 'refund_order'"),
        (lambda: {"approval": ApprovalAdvisor(tools=[None])}, r"tools\[0\] is None\. Give a name"),  # type: ignore[list-item]
        (lambda: {"approval": ApprovalAdvisor(tags="orders")}, "tags is the text 'orders'"),
        (lambda: {"limits": LoopLimits(per_tool={3: 1})}, r"per_tool\[0\] is 3"),  # type: ignore[dict-item]
        (lambda: {"limits": LoopLimits(per_tool=[MAIL])}, "per_tool is a list. Give a dict"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_name_is_told(settings: Callable[[], dict[str, Any]], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        router(**settings())
