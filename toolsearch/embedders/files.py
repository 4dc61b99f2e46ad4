"""The files of an encoder: whether they are genuine, and what the one that describes the others says."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from toolsearch.embedders.text import short_digest
from toolsearch.exceptions import EmbedderUnavailableError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class EncoderFacts(Protocol):
    """What is written of an encoder, as a data class.

    Attributes:
        name: Begins the embedder's id.
        format: Of the file; one release reads one.
    """

    @property
    def name(self) -> str: ...

    @property
    def format(self) -> int: ...


Facts = TypeVar("Facts", bound=EncoderFacts)


def check_file(path: Path, sha256: str, *, owner: str, expected: str, remedy: str) -> None:
    """Nothing, when the file has this SHA-256.

    Raises:
        EmbedderUnavailableError: it has not, or cannot be read; `owner`, what was `expected` and the
            `remedy` make up the message.
    """
    try:
        with path.open("rb") as file:
            genuine = hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except OSError as exc:
        reason = f"cannot be read ({exc.strerror})"
    else:
        if genuine:
            return
        reason = f"is not the file that {expected} (its SHA-256 differs)"
    raise EmbedderUnavailableError(f"{owner} {str(path)!r} {reason}. {remedy}")


def id_of(name: str, facts: DataclassInstance, *recipe: str | int) -> str:
    """The name, and a digest of all other facts and of what else decides the vectors."""
    parts = {key: value for key, value in asdict(facts).items() if key != "name"}
    return f"{name}@{short_digest(json.dumps([parts, *recipe], sort_keys=True))}"


def write_facts(facts: DataclassInstance, path: Path) -> None:
    """Write the facts as JSON."""
    path.write_text(json.dumps(asdict(facts), indent=2) + "\n", encoding="utf-8")


def read_facts(kind: type[Facts], path: Path, *, encoder: str, reads: int, remedy: str) -> Facts:
    """What `write_facts` left.

    Args:
        encoder: What the file should describe, for the message.
        reads: The format that this release reads.
        remedy: What to do about a file of another one.

    Raises:
        EmbedderUnavailableError: there is no such file, or it is none that this release can read.
    """
    try:
        record: Any = json.loads(path.read_text(encoding="utf-8"))
        facts = kind(**record)
    except (OSError, ValueError, TypeError) as exc:
        raise EmbedderUnavailableError(f"{str(path)!r} describes no {encoder}: {exc}") from exc
    if facts.format != reads:
        raise EmbedderUnavailableError(
            f"{str(path)!r} has format {facts.format}, and this release reads {reads}. {remedy}"
        )
    return facts
