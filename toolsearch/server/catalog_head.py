"""`CatalogHead`: what a PostgreSQL database says of its catalog as a whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import LiteralString

from toolsearch.postgres.database import Connection
from toolsearch.tools import JsonObject

_HEAD: LiteralString = (
    "SELECT version, pruned, fingerprint, embedder_id, dim, document_version, calibration::text FROM catalog"
)


@dataclass(frozen=True)
class CatalogHead:
    """What is known of a stored catalog without reading its tools; `pruned` as in the table."""

    version: int
    pruned: int
    fingerprint: str
    embedder_id: str
    dim: int
    document_version: int
    calibration: JsonObject | None


def read_head(connection: Connection) -> CatalogHead | None:
    """What is kept; None while the catalog was never filled."""
    row = connection.execute(_HEAD).fetchone()
    if row is None:
        return None
    version, pruned, fingerprint, embedder_id, dim, document_version, calibration = row
    return CatalogHead(
        version=version,
        pruned=pruned,
        fingerprint=fingerprint,
        embedder_id=embedder_id,
        dim=dim,
        document_version=document_version,
        calibration=json.loads(calibration) if calibration else None,
    )
