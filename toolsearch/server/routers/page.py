"""The page at ``/ui``: files that come with the package, and say nothing of the catalog."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from toolsearch.server.answers import is_known

router = APIRouter(include_in_schema=False)

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The page loads from and talks to its own service alone, and makes no HTML or script of any text."""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_INDEX = "index.html"


@dataclass(frozen=True)
class PageFile:
    """A file of the page; `version` changes with its content."""

    content: bytes
    media_type: str
    version: str


@router.api_route("/ui", methods=["GET", "HEAD"])
async def page() -> Response:
    """To the page, also where a proxy serves all of this below a path of its own."""
    return RedirectResponse("ui/", 308)


@router.api_route("/ui/{path:path}", methods=["GET", "HEAD"])
async def page_file(path: str, request: Request) -> Response:
    """A file of the page. Only those that there are can be named, so that no path leads elsewhere."""
    file = page_files().get(path or _INDEX)
    if file is None:
        raise HTTPException(404)
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "ETag": f'"{file.version}"',
    }
    if is_known(request.headers.get("if-none-match"), file.version):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)


@cache
def page_files() -> Mapping[str, PageFile]:
    """The files of the page by their paths below ``/ui/``."""
    return dict(_files_in(resources.files("toolsearch.server").joinpath("ui")))


def _files_in(folder: Traversable, prefix: str = "") -> list[tuple[str, PageFile]]:
    found: list[tuple[str, PageFile]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files_in(entry, f"{prefix}{entry.name}/")
            continue
        media_type = _TYPES.get(entry.name[entry.name.rfind(".") :])
        if media_type is not None:
            content = entry.read_bytes()
            version = hashlib.sha256(content).hexdigest()[:32]
            found.append((f"{prefix}{entry.name}", PageFile(content, media_type, version)))
    return found
