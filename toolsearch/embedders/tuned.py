"""An encoder that `toolsearch tune` made, from its folder; offline and without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from toolsearch.embedders.base import Progress, Vectors
from toolsearch.embedders.files import check_file, id_of, read_facts, write_facts
from toolsearch.embedders.language import english_share
from toolsearch.embedders.onnx import MAX_CHARACTERS, RECIPE, OnnxEncoder, OnnxModel, open_onnx

CONFIG = "encoder.json"
WEIGHTS = "model.int8.onnx"
TOKENIZER = "tokenizer.json"
FORMAT = 1
MOST_TOKENS = 512
"""As many positions as a BERT encoder has."""


@dataclass(frozen=True)
class EncoderConfig:
    """What a folder's ``encoder.json`` says.

    Attributes:
        name: Begins the embedder's id.
        dim: Length of each vector.
        max_tokens: Texts are cut here, the special tokens counted.
        unknown_token: The id of tokens that the vocabulary lacks.
        query_prefix, document_prefix: Put in front of each text.
        weights_sha256, tokenizer_sha256: Of the two other files.
    """

    name: str
    dim: int
    max_tokens: int
    unknown_token: int
    weights_sha256: str
    tokenizer_sha256: str
    query_prefix: str = ""
    document_prefix: str = ""
    format: int = FORMAT

    @property
    def id(self) -> str:
        """The name and a digest of all that decides the vectors."""
        return id_of(self.name, self, RECIPE, MAX_CHARACTERS)

    def write(self, folder: Path) -> None:
        """Write ``encoder.json``."""
        write_facts(self, folder / CONFIG)

    @classmethod
    def read(cls, folder: Path) -> EncoderConfig:
        """What `write` left.

        Raises:
            EmbedderUnavailableError: there is no such file, or it is none that this release can read.
        """
        return read_facts(
            cls, folder / CONFIG, encoder="tuned encoder", reads=FORMAT, remedy="Tune it again."
        )


class TunedEmbedder:
    """Embeds with the encoder in a folder that `toolsearch tune` wrote.

    The files are checked by SHA-256 when they are first used, and the id names their content. For one
    text there is one vector, as for `BundledEmbedder`.
    """

    _OWNER: ClassVar[str] = "The tuned encoder's file"
    _REMEDY: ClassVar[str] = "Tune it again, or copy the whole folder."

    def __init__(
        self, folder: Path | str, *, max_tokens: int | None = None, threads: int | None = None
    ) -> None:
        """Reads ``encoder.json`` and loads nothing yet.

        Args:
            folder: What ``toolsearch tune`` wrote.
            max_tokens: Texts are cut here, from 3 to 512, which changes the `id`; None cuts where
                ``encoder.json`` says.
            threads: For many texts at once; None takes every processor that this process may use.

        Raises:
            EmbedderUnavailableError: the folder holds no tuned encoder.
        """
        self.folder = Path(folder)
        self._config = EncoderConfig.read(self.folder)
        if max_tokens is not None:
            if not 3 <= max_tokens <= MOST_TOKENS:
                raise ValueError(f"max_tokens is {max_tokens}, not from 3 to {MOST_TOKENS}.")
            self._config = replace(self._config, max_tokens=max_tokens)
        self.id = self._config.id
        self.dim = self._config.dim
        self._encoder = OnnxEncoder(self.id, dim=self.dim, threads=threads, open_model=self._open)

    def __repr__(self) -> str:
        return f"TunedEmbedder({str(self.folder)!r}, id={self.id!r})"

    @property
    def model(self) -> OnnxModel:
        """What runs it, checked and loaded now if it is not yet.

        Raises:
            EmbedderUnavailableError: a file is missing or altered.
        """
        return self._encoder.model

    @property
    def threads(self) -> int:
        """How many threads embed many texts."""
        return self._encoder.threads

    def warm_up(self) -> None:
        """Load the model now: a service calls this when it starts, and its first search takes no longer.

        Raises:
            EmbedderUnavailableError: a file is missing or altered.
        """
        self._encoder.warm_up()

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`.

        Raises:
            EmbedderUnavailableError: a file is missing or altered.
            EmbeddingError: the model could not be run.
        """
        return self._encoder.embed(_prefixed(self._config.document_prefix, texts), progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`."""
        return self._encoder.embed(_prefixed(self._config.query_prefix, texts))

    def reads(self, text: str) -> float:
        """Share of the text's letters that are Latin, half of that in another language than English."""
        return english_share(text[:MAX_CHARACTERS])

    def _open(self) -> OnnxModel:
        config = self._config
        weights, vocabulary = self.folder / WEIGHTS, self.folder / TOKENIZER
        for path, sha256 in ((weights, config.weights_sha256), (vocabulary, config.tokenizer_sha256)):
            check_file(
                path,
                sha256,
                owner=self._OWNER,
                expected=f"{CONFIG} names",
                remedy=self._REMEDY,
            )
        return open_onnx(
            weights, vocabulary, max_tokens=config.max_tokens, unknown_token=config.unknown_token
        )


def is_tuned_folder(path: Path | str) -> bool:
    """Whether this folder holds what `toolsearch tune` writes."""
    return (Path(path) / CONFIG).is_file()


def _prefixed(prefix: str, texts: Sequence[str]) -> Sequence[str]:
    """The texts with the prefix; a blank one stays blank, so that it gives a zero row."""
    return [prefix + text if text.strip() else text for text in texts] if prefix else texts
