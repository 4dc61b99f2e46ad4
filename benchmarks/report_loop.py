"""The part of the report on whole conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.loop_arms import ARMS
from benchmarks.markdown import prose, table
from toolsearch.tools import JsonObject

HEADLINE = "three tools"
DELIVERIES = ("append", "bridge", "native")

_COLUMNS = (
    "arm",
    "selected",
    "resolved",
    "rounds",
    "tokens",
    "of these definitions",
    "saved",
    "saved, warm cache",
)


def loop_section(loop: JsonObject) -> Iterator[str]:
    """Its lines, from what benchmarks/loop.py measured."""
    catalog = loop["catalog"]
    yield "## Whole conversations"
    yield ""
    yield from _headline(loop)
    yield from prose(
        f"A scripted selector goes through the real loop and the real search over the demo catalog: "
        f"{catalog['tools']} tools, {catalog['definition_tokens']:,} tokens of definitions "
        f"({loop['tokenizer']}). No model takes part, so this measures what the search shows and what is "
        "sent, not how well a model chooses; `--model` measures one. What the selector does:"
    )
    for assumption in loop["assumptions"]:
        yield f"- {assumption}"
    for words, meaning in loop["words"].items():
        yield f"- **{words}**: {meaning}"
    yield ""
    yield from _arms(loop)
    yield from _criterion(loop)
    yield from _groups(loop)
    yield from _searches(loop)
    yield from _break_even(loop)
    yield from _sets(loop["sets"])
    yield from prose(f"Measured by `{loop['command']}`.")


def _headline(loop: JsonObject) -> Iterator[str]:
    """What comes out, by the words that are searched with; the details follow it."""
    group, catalog = loop["groups"][HEADLINE], loop["catalog"]
    best, floor = group["rephrased"], group["verbatim"]
    pays = loop["break_even"]["break_even"]
    yield from prose(
        f"**With {catalog['tools']} tools, a resolved request for three of them takes "
        f"{_range(best, 'saved')} fewer tokens than with all tools sent, and {_range(best, 'selection')} of "
        "the relevant tools are selected, where the searches are in the words of a tool's maker: what a "
        "capable model reaches (*rephrased*). In the user's own words, unchanged, it takes "
        f"{_range(floor, 'saved')} fewer, and {_range(floor, 'selection')} are selected: the floor "
        f"(*verbatim*). Tool search pays from {_sizes(pays['tokens'])} tools on, and where the prompt cache "
        f"is warm, from {_sizes(pays['cost_warm'])}.**"
    )


def _range(arms: Mapping[str, JsonObject], key: str) -> str:
    """The least and the most of a share over the deliveries, in percent."""
    shares = sorted(round(100 * arms[arm][key], 1) for arm in DELIVERIES)
    return f"{shares[0]:g} %" if shares[0] == shares[-1] else f"{shares[0]:g} to {shares[-1]:g} %"


def _sizes(by_arm: Mapping[str, int | None]) -> str:
    """The least and the most of the break-even sizes over the deliveries that ever pay."""
    sizes = sorted(size for size in (by_arm[arm] for arm in DELIVERIES) if size is not None)
    if not sizes:
        return "no number of"
    return f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"


def _arms(loop: JsonObject) -> Iterator[str]:
    group = loop["groups"][HEADLINE]
    yield "### Requests for three tools"
    yield ""
    yield from prose(
        f"{group['tasks']} requests with {group['needs']} relevant tools: those of the demo set that need "
        "three, and requests for one tool joined by threes, a line each. *Selected* is the share of relevant "
        "tools that were called, *resolved* the share of requests with all three. Tokens are all that is "
        "read in all rounds and all that is written, for each resolved request; the savings are against "
        f"`send-all`. A cached token counts for {loop['cached_price']:g}, and beginnings under "
        f"{loop['least_cached_tokens']:,} tokens are not cached; the cache is warm when another request has "
        "gone before."
    )
    for words in loop["words"]:
        yield f"{words.capitalize()}:"
        yield ""
        yield from table(_COLUMNS, (_arm_row(arm, row) for arm, row in group[words].items()))
        yield ""
    yield from prose("; ".join(f"`{arm}`: {meaning}" for arm, meaning in ARMS.items()) + ".")
    yield "![Tokens of a request for three tools](images/loop.png)"
    yield ""


def _criterion(loop: JsonObject) -> Iterator[str]:
    """Whether the goal is met: 90 % of the tokens saved, within two points of being given the tools."""
    group = loop["groups"][HEADLINE]
    yield from prose(
        "The goal is to save 90 % of the tokens while selecting within 2 points of the oracle. "
        + " ".join(f"{words.capitalize()}, {_verdict(group[words])}" for words in loop["words"])
    )


def _verdict(arms: Mapping[str, JsonObject]) -> str:
    given = arms["oracle"]["selection"]
    judged = {
        arm: row["saved"] >= 0.9 and row["selection"] >= given - 0.02
        for arm, row in arms.items()
        if arm not in {"oracle", "send-all"}
    }
    met = [f"`{arm}`" for arm, is_met in judged.items() if is_met]
    missed = [
        f"`{arm}` ({arms[arm]['saved']:.1%} saved, {100 * (given - arms[arm]['selection']):.1f} points below)"
        for arm, is_met in judged.items()
        if not is_met
    ]
    parts = ([f"it is met by {', '.join(met)}"] if met else []) + (
        [f"it is missed by {', '.join(missed)}"] if missed else []
    )
    return f"{' and '.join(parts)}."


def _groups(loop: JsonObject) -> Iterator[str]:
    yield "Other requests, by `append`:"
    yield ""
    yield from table(
        [
            "requests",
            "number",
            *(f"{words}, {what}" for words in loop["words"] for what in ("selected", "tokens")),
        ],
        (
            [
                name,
                f"{group['tasks']}",
                *(
                    cell
                    for words in loop["words"]
                    for cell in (
                        _share(group[words]["append"]["selection"]),
                        f"{group[words]['append']['per_task']['tokens']:,.0f}",
                    )
                ),
            ]
            for name, group in loop["groups"].items()
        ),
    )
    yield ""


def _searches(loop: JsonObject) -> Iterator[str]:
    yield from prose(
        "How much hangs on the words, and on how often the selector may search: requests for three tools, "
        "`append`, the share of relevant tools that were called. A word less is one of each query left out "
        "at random, small words aside."
    )
    n_rows = len(next(iter(loop["by_searches"].values())))
    yield from table(
        ["queries", *("1 search" if n == 1 else f"{n} searches" for n in range(1, n_rows + 1)), "saved"],
        (
            [words, *(_share(row["selection"]) for row in rows), f"{_saved(loop, rows[-1]):.1%}"]
            for words, rows in loop["by_searches"].items()
        ),
    )
    yield ""


def _saved(loop: JsonObject, row: JsonObject) -> float:
    whole = loop["groups"][HEADLINE]["rephrased"]["send-all"]
    return float(1 - row["per_resolved"]["tokens"] / whole["per_resolved"]["tokens"])


def _break_even(loop: JsonObject) -> Iterator[str]:
    found = loop["break_even"]
    names = {"tokens": "all tokens", "cost_cold": "cached within the request", "cost_warm": "cache warm"}
    arms = list(found["break_even"]["tokens"])
    yield "### From how many tools on it pays"
    yield ""
    yield from prose(
        f"{found['tasks']} of these requests over catalogs of {found['sizes'][0]} to {found['sizes'][-1]} "
        "tools, the relevant ones and others at random, rephrased queries. The size from which a request "
        "costs less than with all tools sent:"
    )
    yield from table(
        ["counting", *arms],
        (
            [names[measure], *("never" if by_arm[arm] is None else f"{by_arm[arm]}" for arm in arms)]
            for measure, by_arm in found["break_even"].items()
        ),
    )
    yield ""
    yield "![Cost of a request by catalog size](images/break-even.png)"
    yield ""


def _sets(sets: Mapping[str, JsonObject]) -> Iterator[str]:
    if not sets:
        return
    yield "### Other sets"
    yield ""
    yield from prose(
        "Dev requests drawn from sets of others' tools, searched verbatim, so figures of the floor. Relevant "
        "tools are those of the sets' makers; a request counts as resolved only with all of them."
    )
    yield from table(
        [
            "set",
            "tools",
            "requests",
            "selected",
            "resolved",
            "tokens a request, all sent",
            "append",
            "bridge",
        ],
        (
            [
                name,
                f"{row['tools']:,}",
                f"{row['tasks']}",
                _share(row["verbatim"]["append"]["selection"]),
                _share(row["verbatim"]["append"]["resolved"]),
                *(
                    f"{row['verbatim'][arm]['per_task']['tokens']:,.0f}"
                    for arm in ("send-all", "append", "bridge")
                ),
            ]
            for name, row in sets.items()
        ),
    )
    yield ""


def _arm_row(arm: str, row: JsonObject) -> list[str]:
    per = row["per_resolved"]
    return [
        f"`{arm}`",
        _share(row["selection"]),
        _share(row["resolved"]),
        f"{row['rounds']:.2f}",
        f"{per['tokens']:,.0f}",
        f"{per['definitions']:,.0f}",
        f"{row['saved']:.1%}",
        f"{row['saved_warm']:.1%}",
    ]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
