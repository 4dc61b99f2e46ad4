"""`Preselection`: tools for a user message before a model reads it."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

from toolsearch.discovery.view import CatalogView
from toolsearch.exceptions import SearchRequestError, TookTooLongError
from toolsearch.exceptions.places import place_of
from toolsearch.retrieval.base import Retriever, SearchRequest

_KEPT = 1024

_log = logging.getLogger(__name__)


class Preselection:
    """Finds tools by the text of a user message. The last answers are kept, since every round asks again."""

    def __init__(self, searcher: Retriever, k: int) -> None:
        self._searcher = searcher
        self._k = k
        self._kept: WeakKeyDictionary[CatalogView, OrderedDict[tuple[str, str], tuple[str, ...]]] = (
            WeakKeyDictionary()
        )
        self._lock = threading.Lock()

    def names(self, text: str, view: CatalogView, tenant: str = "") -> tuple[str, ...]:
        """Public names for the message, best first; none where nothing fits or the search fails."""
        key = tenant, text
        with self._lock:
            kept = self._kept.setdefault(view, OrderedDict())
            if key in kept:
                kept.move_to_end(key)
                return kept[key]
        try:
            result = self._searcher.search(
                SearchRequest(queries=(text,), max_k=self._k, within=view.within, near=0, tenant=tenant)
            )
        except SearchRequestError:
            found: tuple[str, ...] = ()
        except TookTooLongError:
            raise
        except Exception as exc:  # noqa: BLE001 - the model can still search by itself, so the message goes through
            _log.warning("No tools were preselected, as the search failed: %s", place_of(exc))
            return ()
        else:
            found = tuple(name for name in result.names if name in view.tools)
        with self._lock:
            kept[key] = found
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        return found
