"""Tools of an OpenAPI document: one for each operation, called over HTTP."""

from toolsearch.sources.openapi.source import OpenApiSource, load_openapi

__all__ = ["OpenApiSource", "load_openapi"]
