"""Any model of the sentence-transformers library, by name or from a folder."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolsearch.embedders.base import Progress, Vectors, as_unit_rows
from toolsearch.embedders.text import latin_share, short_digest, without_surrogates
from toolsearch.exceptions import EmbedderUnavailableError, EmbeddingError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MAX_CHARACTERS = 100_000
"""Only so much of a text is looked at: more than the longest windows hold."""

_FULL_COMMIT_LENGTH = 40
_BATCHES_PER_CALL = 16


class SentenceTransformerEmbedder:
    """Embeds with a model that sentence-transformers can load.

    A folder is read as it is and nothing is downloaded. A name is looked up on the Hugging Face hub and
    kept in its cache, unless `local_files_only`. Texts beyond the model's window are cut; blank ones give
    zero rows. Vectors depend on what a text is embedded with by about 1e-7, as padding differs.
    """

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        document_prompt: str | None = None,
        query_prompt: str | None = None,
        latin_only: bool = False,
        local_files_only: bool = False,
        cache_folder: Path | str | None = None,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        """Loads nothing yet.

        Args:
            name_or_path: A folder, or a name such as ``"BAAI/bge-small-en-v1.5"``.
            revision: A branch, tag or commit of a named model.
            document_prompt, query_prompt: What goes in front of a text; None takes the model's own.
            latin_only: The model was trained on Latin script alone; see `reads`.
            local_files_only: A named model must be in the cache already.
            cache_folder: Another cache than the hub's default.
            device: Such as ``"cpu"`` or ``"cuda"``; None takes the best one.
            batch_size: Texts that run through the model together.

        Raises:
            EmbedderUnavailableError: the folder is in the home folder of nobody.
        """
        self._name = str(name_or_path)
        self._folder = _folder(name_or_path) if _is_path(self._name) else None
        self._revision = revision
        self._prompts = (document_prompt, query_prompt)
        self._latin_only = latin_only
        self._local_files_only = local_files_only or self._folder is not None
        self._cache_folder = None if cache_folder is None else str(cache_folder)
        self._device = device
        self._batch_size = batch_size
        self._loaded: SentenceTransformer | None = None
        # Also held while the model runs: tokenizers of transformers keep their padding as state.
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self._name!r})"

    @cached_property
    def id(self) -> str:
        """``st:`` and the folder's name with a digest of its files, or the model's name with its commit.

        A named model is loaded to learn its commit, unless `revision` is one. Prompts add a digest.

        Raises:
            EmbedderUnavailableError: there is no such model.
        """
        if self._folder is not None:
            identity = f"st:{self._folder.resolve().name}@{_folder_digest(self._folder)[:8]}"
        else:
            identity = f"st:{self._name}@{self._commit()}"
        if self._prompts != (None, None):
            identity += f"@{short_digest(repr(self._prompts))}"
        return identity

    @cached_property
    def dim(self) -> int:
        """Length of each vector, as the model says.

        Raises:
            EmbedderUnavailableError: the model cannot be loaded.
        """
        model = self._model
        # Earlier releases know the longer name alone.
        ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        dim = ask()
        if dim is None:
            raise EmbedderUnavailableError(f"The model {self._name!r} does not say how long its vectors are.")
        return int(dim)

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`.

        Raises:
            EmbedderUnavailableError: the library, or the model, is missing or cannot be loaded.
            EmbeddingError: the model failed.
        """
        return self._embed("encode_document", texts, self._prompts[0], progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`; as for documents, with the query's prompt."""
        return self._embed("encode_query", texts, self._prompts[1], None)

    def reads(self, text: str) -> float:
        """1.0, or for a `latin_only` model the share of the text's letters that are Latin."""
        return latin_share(text[:MAX_CHARACTERS]) if self._latin_only else 1.0

    def _embed(
        self, method: str, texts: Sequence[str], prompt: str | None, progress: Progress | None
    ) -> Vectors:
        encode = getattr(self._model, method)
        options: dict[str, Any] = {"batch_size": self._batch_size, "show_progress_bar": False}
        if prompt is not None:
            options["prompt"] = prompt
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        cut = [without_surrogates(text[:MAX_CHARACTERS]) for text in texts]
        waiting = sorted((i for i, text in enumerate(cut) if text.strip()), key=lambda i: len(cut[i]))
        step = self._batch_size * _BATCHES_PER_CALL
        for start in range(0, len(waiting), step):
            chunk = waiting[start : start + step]
            if progress is not None:
                progress(len(texts) - len(waiting) + start, len(texts))
            try:
                with self._lock:
                    rows[chunk] = encode([cut[i] for i in chunk], **options)
            except Exception as exc:
                raise EmbeddingError(f"The model {self._name!r} could not be run: {exc}") from exc
        if progress is not None:
            progress(len(texts), len(texts))
        return as_unit_rows(rows, n=len(texts), dim=self.dim, embedder_id=self.id)

    @property
    def _model(self) -> SentenceTransformer:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._load()
        return self._loaded

    def _load(self) -> SentenceTransformer:
        if self._folder is not None and not self._folder.is_dir():
            raise EmbedderUnavailableError(f"There is no model folder {self._name!r}.")
        try:
            import sentence_transformers
        except ImportError as exc:
            raise EmbedderUnavailableError(
                f"The model {self._name!r} needs the package {exc.name!r}. "
                "Install it: pip install 'toolsearch[sentence-transformers]'"
            ) from exc
        try:
            with _without_loading_bar():
                return sentence_transformers.SentenceTransformer(
                    self._name if self._folder is None else str(self._folder),
                    revision=self._revision,
                    device=self._device,
                    cache_folder=self._cache_folder,
                    local_files_only=self._local_files_only,
                )
        except Exception as exc:
            raise EmbedderUnavailableError(f"The model {self._name!r} cannot be loaded: {exc}") from exc

    def _commit(self) -> str:
        if self._revision is not None and len(self._revision) == _FULL_COMMIT_LENGTH:
            return self._revision
        self._model  # noqa: B018 - loading it fills the cache that is read below
        from huggingface_hub import try_to_load_from_cache

        # Names without an organization are those of the library's authors.
        for name in (self._name, f"sentence-transformers/{self._name}"):
            found = try_to_load_from_cache(
                name, "config.json", cache_dir=self._cache_folder, revision=self._revision
            )
            if isinstance(found, str):
                return Path(found).parent.name
        raise EmbedderUnavailableError(
            f"The commit of the model {self._name!r} is unknown. Name it: 'st:{self._name}@COMMIT'."
        )


def _is_path(name: str) -> bool:
    """Whether a folder is meant: there is one, or no name on the hub looks like this."""
    return Path(name).is_dir() or name.startswith((".", "~", "/")) or name.count("/") > 1 or "\\" in name


def _folder(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as exc:
        raise EmbedderUnavailableError(f"The model folder {str(path)!r} is in no known home folder.") from exc


def _folder_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the folder's files; hidden and Markdown files count nothing."""
    whole = hashlib.sha256()
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".md"]
    for path in files:
        name = path.relative_to(folder).as_posix()
        if name.startswith("."):
            continue
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{digest} {name}\n".encode())
    if not files:
        raise EmbedderUnavailableError(f"There is no model in the folder {str(folder)!r}.")
    return whole.hexdigest()


@contextmanager
def _without_loading_bar() -> Iterator[None]:
    """Keeps transformers from drawing on standard error while it loads."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    if not logging.is_progress_bar_enabled():
        yield
        return
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()
