"""The bytes of a request's body: JSON, forms, multipart, text and files."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from toolsearch.sources.openapi.media import FORM, MULTIPART, is_json, is_text
from toolsearch.sources.openapi.model import Body, Serialization
from toolsearch.sources.openapi.styles import as_json, as_text, query_text
from toolsearch.tools import JsonObject

_FORM_DEFAULT = Serialization()


def encode_body(body: Body, value: Any) -> tuple[bytes, str]:
    """The bytes of `value`, and their ``Content-Type``.

    Raises:
        ValueError: a file that is no base64, or a form that is no object.
    """
    if is_json(body.media_type):
        return as_json(value).encode(), body.media_type
    if body.media_type in {FORM, MULTIPART}:
        if not isinstance(value, dict):
            raise ValueError("the body must be an object of the form's fields")
        if body.media_type == FORM:
            return _form(value, body.encoding).encode(), FORM
        return _multipart(value, body)
    if is_text(body.media_type):
        return as_text(value).encode(), f"{body.media_type}; charset=utf-8"
    return decoded(value, "body"), body.media_type


def decoded(value: Any, name: str) -> bytes:
    """The bytes of a file that was written as base64, with line ends or not.

    Raises:
        ValueError: it was not.
    """
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError, AttributeError):
        raise ValueError(f"{name!r} must be base64") from None


def _form(value: JsonObject, encoding: Mapping[str, Serialization]) -> str:
    """The fields of a form, percent-encoded.

    Source: OpenAPI 3.1.1, 4.8.15.1: members are written as in a query; where no style is stated, nested
    values as JSON.
    """
    parts = []
    for name, member in value.items():
        if member is None:
            continue
        how = encoding.get(name, _FORM_DEFAULT)
        if how.media_type and not is_json(how.media_type):
            how = _FORM_DEFAULT
        if name not in encoding and isinstance(member, dict):
            parts.append(urlencode({name: as_json(member)}))
            continue
        # A plus sign stands for a blank in a form.
        parts.append(query_text(name, member, how).replace("+", "%2B"))
    return "&".join(part for part in parts if part)


def _multipart(value: JsonObject, body: Body) -> tuple[bytes, str]:
    """The parts of a form (RFC 7578), with a boundary that stands in none of them."""
    parts = [part for name, member in value.items() for part in _parts(name, member, body)]
    boundary = secrets.token_hex(16)
    while any(boundary.encode() in content for _, content in parts):
        boundary = secrets.token_hex(16)
    line = f"--{boundary}".encode()
    whole = b"".join(b"%b\r\n%b\r\n\r\n%b\r\n" % (line, head.encode(), content) for head, content in parts)
    return whole + line + b"--\r\n", f"{MULTIPART}; boundary={boundary}"


def _parts(name: str, value: Any, body: Body) -> Iterator[tuple[str, bytes]]:
    if value is None:
        return
    if isinstance(value, list):
        for each in value:
            yield from _parts(name, each, body)
        return
    stated = body.encoding.get(name, _FORM_DEFAULT).media_type
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if _is_file(body.schema.get("properties", {}).get(name), value):
        head += f'; filename="{_quoted(name)}"\r\nContent-Type: {stated or "application/octet-stream"}'
        yield head, decoded(value, name)
    elif isinstance(value, dict) or (stated and is_json(stated)):
        yield f"{head}\r\nContent-Type: {stated or 'application/json'}", as_json(value).encode()
    else:
        yield head + (f"\r\nContent-Type: {stated}" if stated else ""), as_text(value).encode()


def _is_file(schema: Any, value: Any) -> bool:
    """Whether a text is a file in base64, of a member or an element of it that was read as one."""
    if not isinstance(schema, dict) or not isinstance(value, str):
        return False
    if schema.get("contentEncoding") == "base64":
        return True
    below = [schema.get("items"), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return any(_is_file(each, value) for each in below)


def _quoted(name: str) -> str:
    """A name between quotes, as HTML has it: quotes and line ends are percent-encoded."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
