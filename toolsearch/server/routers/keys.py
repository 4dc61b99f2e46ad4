"""API keys: made, listed and revoked by who may do everything."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from toolsearch.api.keys import KeyList, MadeKey, NewKey
from toolsearch.server.answers import answer
from toolsearch.server.asking import Administering

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.get("", response_model=KeyList, summary="List keys", operation_id="list_keys")
async def list_keys(asking: Administering) -> Response:
    """All keys, without their secrets."""
    return answer(KeyList(keys=await asking.run(asking.service.keys.entries)))


@router.post("", response_model=MadeKey, status_code=201, summary="Make a key", operation_id="create_key")
async def create_key(new: NewKey, request: Request, asking: Administering) -> Response:
    """The key with its secret, which is shown this once. With the first key, all requests need one."""
    made = await asking.run(asking.service.keys.add, new, now=time.time())
    request.state.subject = {"key_id": made.key.id}
    return answer(made, 201)


@router.delete("/{key_id}", status_code=204, summary="Revoke a key", operation_id="delete_key")
async def delete_key(key_id: Annotated[str, Path(max_length=64)], asking: Administering) -> Response:
    """The key counts no more: at once here, within a second in other processes on the database."""
    await asking.run(asking.service.keys.remove, key_id)
    return Response(status_code=204)
