"""What schemathesis lacks to send uploads: JSON Lines."""

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(ctx: Any, value: Any) -> bytes:
    del ctx
    return value if isinstance(value, bytes) else f"{json.dumps(value)}\n".encode()
