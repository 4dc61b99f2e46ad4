"""The demo index served with something to look at: sessions, and usage of a month."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from toolsearch import Client
from toolsearch.api.usage import UsageDay
from toolsearch.server import ServerSettings, create_app, serving

INDEX = Path(__file__).parents[3] / "indexes" / "demo" / "index"
CONVERSATIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "trip-planner": (("book a flight to Lisbon", "weather forecast"), ("block the days in my calendar",)),
    "on-call": (("who is on call",), ("restart a pod", "open an incident")),
    "ticket-4711": (("refund an order",), ("tell the customer by email", "close the ticket")),
}


@contextmanager
def demo(**settings: Any) -> Iterator[tuple[FastAPI, str]]:
    """The service, ready, and its address."""
    app = create_app(INDEX, ServerSettings(port=0, save=False, timeout_s=120, **settings))
    with serving(app) as url, Client(url) as client:
        client.wait_until_ready()
        yield app, url


def converse(url: str) -> None:
    """Have three conversations: each asks for its tools and searches, round by round."""
    with Client(url) as client:
        for session, rounds in CONVERSATIONS.items():
            for queries in rounds:
                client.session_tools(session, "openai_chat")
                client.session_search(session, {"queries": list(queries), "limit": 2})
            client.session_tools(session, "openai_chat")


def use(app: FastAPI, *, days: int = 30, tenant: str = "") -> None:
    """Have the service remember `days` days of searches, with fewer at weekends."""
    chance = random.Random(7)
    today = datetime.now(UTC).date()
    used = {}
    for back in range(days):
        day = today - timedelta(days=back)
        searches = chance.randint(140, 320) // (4 if day.weekday() >= 5 else 1)
        nothing = sum(chance.random() < 0.08 for _ in range(searches))
        returned = sum(chance.randint(280, 900) for _ in range(searches - nothing))
        used[tenant, day.isoformat()] = UsageDay(
            day=day.isoformat(),
            searches=searches,
            nothing_fits=nothing,
            returned_tokens=returned,
            spared_tokens=searches * 45_000 - returned,
            calls=searches // 3,
        )
    app.state.service.records.add_usage(used)
