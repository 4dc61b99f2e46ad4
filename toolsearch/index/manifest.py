"""`Manifest`: what an index folder holds, and by which it is checked. The same inputs give the same bytes."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from toolsearch.exceptions import IndexDamagedError, IndexFormatError

FORMAT: Literal["toolsearch-index"] = "toolsearch-index"
FORMAT_VERSION: Literal[1] = 1
"""Raised whenever a folder that an earlier release wrote cannot be read any more, or the other way round."""

MANIFEST_FILE = "manifest.json"

SNAPSHOT = re.compile(r"snapshot-[0-9a-f]{16}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")


class IndexSummary(BaseModel):
    """What an index was built of.

    Attributes:
        catalog_fingerprint: `Catalog.fingerprint` of its tools.
        document_version: `DOCUMENT_VERSION` of the texts that were embedded.
        recall_at_10: Of the vectors; 1.0 where `vectors` is ``flat``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    n_tools: int = Field(ge=0)
    catalog_fingerprint: str = Field(pattern=r"^[0-9a-f]{64}$")
    document_version: int
    embedder_id: str
    dim: int = Field(ge=1)
    vectors: Literal["flat", "ivf", "hnsw"]
    recall_at_10: float = Field(ge=0, le=1)


class FileEntry(BaseModel):
    """Size in bytes and SHA-256 of a file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")

    @classmethod
    def of(cls, path: Path) -> FileEntry:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(size=file.tell(), sha256=digest)


class Manifest(BaseModel):
    """The summary of an index and its files, by their names in the snapshot, with ``/`` between parts."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["toolsearch-index"] = FORMAT
    format_version: Literal[1] = FORMAT_VERSION
    summary: IndexSummary
    files: dict[str, FileEntry]

    @field_validator("files")
    @classmethod
    def _files_stay_in_the_snapshot(cls, files: dict[str, FileEntry]) -> dict[str, FileEntry]:
        for name in files:
            if not _FILE.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a file in an index")
        return dict(sorted(files.items()))

    @property
    def snapshot(self) -> str:
        """The folder that holds the files. Named by a digest of all else, so it also guards this file."""
        content = json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))
        return f"snapshot-{hashlib.sha256(content.encode()).hexdigest()[:16]}"

    def to_json(self) -> str:
        record = {"format": self.format, "format_version": self.format_version, "snapshot": self.snapshot}
        return json.dumps(record | self.model_dump(), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, path: Path) -> Manifest:
        """The manifest of the index at `path`.

        Raises:
            IndexDamagedError: `text` is not what `to_json` gave.
            IndexFormatError: it is of another format version.
        """
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as exc:
            raise IndexDamagedError(path, MANIFEST_FILE, "is not JSON") from exc
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise IndexDamagedError(path, MANIFEST_FILE, "is not the manifest of an index")
        version = record.get("format_version")
        # In Python, true equals 1.
        if type(version) is not int or version != FORMAT_VERSION:
            raise IndexFormatError(
                path, f"is of format version {version!r}; this release reads version {FORMAT_VERSION}"
            )
        snapshot = record.pop("snapshot", None)
        try:
            manifest = cls.model_validate(record)
        except ValidationError as exc:
            where = ".".join(map(str, exc.errors()[0]["loc"]))
            raise IndexDamagedError(path, MANIFEST_FILE, f"was altered ({where})") from exc
        if snapshot != manifest.snapshot:
            raise IndexDamagedError(path, MANIFEST_FILE, "was altered (its digest differs)")
        return manifest
