"""Clients of the HTTP service: one that blocks and one that is awaited, over the same calls."""

from toolsearch.client.asynchronous import AsyncClient
from toolsearch.client.synchronous import Client

__all__ = ["AsyncClient", "Client"]
