"""Figures of the loop benchmark: the outcomes of each arm in means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.loop_arms import Outcome
from benchmarks.results import SEED
from toolsearch.chat.base import Usage
from toolsearch.evaluation.bootstrap import mean_over_sets
from toolsearch.tools import JsonObject

SEND_ALL = "send-all"


def arms_summary(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, JsonObject]:
    """For each arm: what was selected, rounds, tokens for each resolved task, and what it saves.

    ``selection`` is the share of needs for which a tool that meets them was called, ``resolved`` the share of
    tasks with all of them. Costs count what is read from the prompt cache at a tenth: ``cold`` where only the
    run itself has filled it, ``warm`` where runs of other requests have gone before. ``saved`` compares
    the tokens for each resolved task with sending everything, where that arm is there.
    """
    summary = {arm: _summary(found) for arm, found in outcomes.items()}
    whole = summary.get(SEND_ALL)
    if whole is not None:
        for row in summary.values():
            for saved, key in (("saved", "tokens"), ("saved_cold", "cost_cold"), ("saved_warm", "cost_warm")):
                per_task = row["per_resolved"][key]
                row[saved] = None if per_task is None else round(1 - per_task / whole["per_resolved"][key], 4)
    return summary


def print_arms(title: str, summary: Mapping[str, JsonObject]) -> None:
    """The figures as a table on the terminal."""
    table = Table(title=title)
    columns = (
        "arm",
        "selected",
        "resolved",
        "rounds",
        "searches",
        "tokens / resolved",
        "cold",
        "warm",
        "saved",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "arm" else "right")
    for arm, row in summary.items():
        per = row["per_resolved"]
        table.add_row(
            arm,
            "" if row["selection"] is None else f"{row['selection']:.3f}",
            f"{row['resolved']:.3f}",
            f"{row['rounds']:.2f}",
            f"{row['searches']:.2f}",
            *("" if per[key] is None else f"{per[key]:,.0f}" for key in ("tokens", "cost_cold", "cost_warm")),
            "" if row.get("saved") is None else f"{row['saved']:.1%}",
        )
    Console(width=130).print(table)


def _summary(outcomes: Sequence[Outcome]) -> JsonObject:
    n, resolved = len(outcomes), sum(outcome.is_resolved for outcome in outcomes)
    needs = [float(met) for outcome in outcomes for met in outcome.met]
    selection = mean_over_sets([needs], seed=SEED) if needs else None
    totals = {
        "tokens": sum(outcome.all_tokens for outcome in outcomes),
        "definitions": sum(outcome.tokens["definitions"] for outcome in outcomes),
        "search": sum(outcome.tokens["search"] for outcome in outcomes),
        "cost_cold": sum(outcome.cost(warm=False) for outcome in outcomes),
        "cost_warm": sum(outcome.cost(warm=True) for outcome in outcomes),
    }
    summary: JsonObject = {
        "selection": None if selection is None else round(selection.mean, 4),
        "selection_ci95": None if selection is None else [round(selection.low, 4), round(selection.high, 4)],
        "resolved": round(resolved / n, 4),
        "rounds": round(sum(outcome.rounds for outcome in outcomes) / n, 3),
        "searches": round(sum(outcome.searches for outcome in outcomes) / n, 3),
        "wrong_calls": sum(outcome.wrong_calls for outcome in outcomes),
        "per_task": {key: round(total / n, 1) for key, total in totals.items()},
        "per_resolved": {
            key: round(total / resolved, 1) if resolved else None for key, total in totals.items()
        },
    }
    usage = sum((outcome.usage for outcome in outcomes), Usage())
    if usage != Usage():
        summary["reported"] = {
            "input_tokens": usage.input_tokens,
            "cached_tokens": usage.cached_tokens,
            "output_tokens": usage.output_tokens,
        }
    return summary
