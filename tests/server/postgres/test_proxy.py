"""Conversations through proxies on one PostgreSQL database: any replica goes on with them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS
from tests.server.proxy.test_replicas import ERRAND, FIRST, KEPT, SAID, Moving, replicas, talked
from toolsearch.postgres.url import DatabaseUrl


@pytest.mark.parametrize("form", FORMS)
def test_a_history_goes_on_and_a_session_keeps_what_was_found(form: str, url: DatabaseUrl) -> None:
    headers = {"X-ToolSearch-Session": "ticket-1"}
    with replicas(FIRST["silent"], *ERRAND[:1], *ERRAND[2:], database=url) as pair:
        loop = Moving(pair, form, "streamed", extra_headers=headers)
        said = loop.ask("Mail hi to Ann, then the weather.", "Thanks.")
        for client in loop.clients:
            client.close()
    assert [text[-9:] for text in said] == ["All done.", "Bye."]
    assert [name for name, _ in loop.ran] == ["mail__send_email", "get_weather"]


@KEPT
@pytest.mark.parametrize("first", FIRST)
def test_a_conversation_that_the_provider_keeps_goes_on(
    options: dict[str, Any], first: str, url: DatabaseUrl
) -> None:
    with replicas(FIRST[first], *ERRAND, database=url) as pair:
        said = talked(pair, streamed=True, **options)
    assert [text.removeprefix("Let me look.") for text in said] == SAID
