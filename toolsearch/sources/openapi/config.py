"""OpenAPI documents in a configuration of tool sources: ``{"openapi": {NAME: {"document": ...}}}``.

The key stands beside ``mcpServers`` in the same file, and holds what `load_openapi` takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from toolsearch.checks import check_known, shown
from toolsearch.exceptions import CatalogFileError
from toolsearch.sources.mcp.expansion import MissingVariableError, expanded
from toolsearch.sources.openapi.source import OpenApiSettings, OpenApiSource, load_openapi
from toolsearch.sources.remote import is_url

OPENAPI_KEY = "openapi"

_TEXTS = ("server",)
_LISTS = ("allow_hosts", "allow_private")
_MAPPINGS = ("variables", "credentials", "headers")
_NUMBERS = ("timeout_s", "max_result_bytes")
_SETTINGS = (*_TEXTS, *_MAPPINGS, *_LISTS, *_NUMBERS)


@dataclass(frozen=True, kw_only=True)
class OpenApiConfig:
    """One document, and how its operations are called.

    Attributes:
        name: The tool source of its tools.
        document: A path or an http URL, with ``${VAR}`` as it is written.
        settings: Those of `OpenApiSettings` that a file can hold, with ``${VAR}`` too.
        folder: What a path is relative to.
    """

    name: str
    document: str = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    folder: Path = Path()

    def load(self, environment: Mapping[str, str], **more: Any) -> OpenApiSource:
        """The tools of the document, with the values of the variables that the configuration names.

        Raises:
            CatalogFileError: it cannot be had or read, a variable is not set, or a setting cannot be meant.
        """
        try:
            document = expanded(self.document, environment)
            settings = {key: _expanded(value, environment) for key, value in self.settings.items()}
            location = document if is_url(document) else self.folder / document
            given = cast("OpenApiSettings", {**settings, "source": self.name, **more})
            return load_openapi(location, **given)
        except (MissingVariableError, TypeError, ValueError) as exc:
            if isinstance(exc, CatalogFileError):
                raise
            raise _refusal(self.name, str(exc).rstrip(".")) from exc


def read_openapi_configs(data: Mapping[str, Any], *, folder: Path) -> tuple[OpenApiConfig, ...]:
    """The documents that a configuration names, in its order; disabled ones are left out.

    Raises:
        CatalogFileError: one of them cannot be meant.
    """
    found = data.get(OPENAPI_KEY)
    if not isinstance(found, dict):
        return ()
    return tuple(
        _config(name, entry, folder)
        for name, entry in found.items()
        if not (isinstance(entry, dict) and entry.get("disabled") is True)
    )


def is_openapi_configs(value: Any) -> bool:
    """Whether a JSON value names documents; that of a document itself is its version."""
    return isinstance(value, dict) and all(
        isinstance(entry, dict) and "document" in entry for entry in value.values()
    )


def _config(name: str, entry: Any, folder: Path) -> OpenApiConfig:
    if not isinstance(entry, dict):
        raise _refusal(name, f"it is {shown(entry)}. Give an object")
    settings = {key: value for key, value in entry.items() if key not in {"document", "disabled"}}
    try:
        check_known("setting", settings, _SETTINGS)
    except TypeError as exc:
        raise _refusal(name, str(exc).rstrip(".")) from exc
    document = entry.get("document")
    if not isinstance(document, str) or not document:
        raise _refusal(name, "it has no 'document': a path or a URL")
    for key, value in settings.items():
        if not _is_meant(key, value):
            # The value may be a secret.
            raise _refusal(name, f"its {key} must be {_kind(key)}")
    return OpenApiConfig(name=name, document=document, settings=settings, folder=folder)


def _is_meant(key: str, value: Any) -> bool:
    if key in _TEXTS:
        return isinstance(value, str)
    if key in _LISTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if key in _MAPPINGS:
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(key: str) -> str:
    if key in _TEXTS:
        return "a text"
    if key in _LISTS:
        return "a list of texts"
    return "an object of texts" if key in _MAPPINGS else "a number"


def _expanded(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return expanded(value, environment)
    if isinstance(value, list):
        return [expanded(each, environment) for each in value]
    if isinstance(value, dict):
        return {key: expanded(each, environment) for key, each in value.items()}
    return value


def _refusal(name: str, reason: str) -> CatalogFileError:
    return CatalogFileError(f"OpenAPI document {name!r}", reason)
