"""Requests that schemathesis makes of the OpenAPI document: none is too much for the service."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import service
from toolsearch.tools import JsonObject, Tool, ToolContext

KEY = "schemathesis"
# A program of its own: in this process its plugins would take part in every test.
RUN = (
    *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"),
    *("--phases", "examples,coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--workers", "1"),
    *("--checks", "not_a_server_error,content_type_conformance", "--continue-on-failure"),
    *("--generation-database", "none", "--no-color", "--header", f"Authorization: Bearer {KEY}"),
)


# What calls and learning change.
TOUCHED = ("--include-path-regex", "^/v1/(calls|feedback|search|sessions|usage)")


async def echo(arguments: JsonObject, context: ToolContext) -> JsonObject:
    """Gives back whatever it is called with; the example of the document names it."""
    del context
    return arguments


ECHO = Tool(raw_name="send_email", source="mail", description="Send an email message.", call=echo)


@pytest.mark.skipif(find_spec("schemathesis") is None, reason="needs schemathesis")
@pytest.mark.parametrize(
    ("only", "settings"),
    [((), {}), (TOUCHED, {"callable_tools": (ECHO,), "learn": True, "keep_queries": True})],
    ids=["plain", "with calls and learning"],
)
def test_no_request_that_the_document_allows_or_nearly_allows_is_a_server_error(
    tmp_path: Path, only: tuple[str, ...], settings: dict[str, Any]
) -> None:
    with service(api_key=KEY, max_body_bytes=2_000_000, **settings) as served:
        done = subprocess.run(
            [*RUN, *only, f"{served.url}/openapi.json"],
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.server.schemathesis_hooks"}
            | {"PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        metrics = served.as_key(KEY).get("/metrics").text
        assert 'route="/v1/search",status="200"' in metrics
        assert ('route="/v1/calls",status="200"' in metrics) == bool(settings)
        assert served.http.get("/readyz").status_code == 200
    assert " passed" in done.stdout
    assert "returned only 401" not in done.stdout
