"""Requests that schemathesis makes of the OpenAPI document: none is too much for the service."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import service

KEY = "schemathesis"
# A program of its own: in this process its plugins would take part in every test.
RUN = (
    *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"),
    *("--phases", "examples,coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--workers", "1"),
    *("--checks", "not_a_server_error,content_type_conformance", "--continue-on-failure"),
    *("--generation-database", "none", "--no-color", "--header", f"Authorization: Bearer {KEY}"),
)


@pytest.mark.skipif(find_spec("schemathesis") is None, reason="needs schemathesis")
def test_no_request_that_the_document_allows_or_nearly_allows_is_a_server_error(tmp_path: Path) -> None:
    with service(api_key=KEY, max_body_bytes=2_000_000) as served:
        done = subprocess.run(
            [*RUN, f"{served.url}/openapi.json"],
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.server.schemathesis_hooks"}
            | {"PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert "/v1/search" in served.http.get("/openapi.json").text
        assert served.http.get("/readyz").status_code == 200
    assert " passed" in done.stdout
    assert "returned only 401" not in done.stdout
