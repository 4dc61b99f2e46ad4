"""`Preselection`: tools for a user message before a model reads it."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from toolsearch.discovery.view import CatalogView
from toolsearch.exceptions import SearchRequestError
from toolsearch.retrieval.base import Retriever, SearchRequest

_KEPT = 1024

_log = logging.getLogger(__name__)


class Preselection:
    """Finds tools by the text of a user message. The last answers are kept, since every round asks again."""

    def __init__(self, searcher: Retriever, k: int) -> None:
        self._searcher = searcher
        self._k = k
        self._kept: OrderedDict[tuple[CatalogView, str], tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def names(self, text: str, view: CatalogView) -> tuple[str, ...]:
        """Public names for the message, best first; none where nothing fits or the search fails."""
        key = (view, text)
        with self._lock:
            known = self._kept.get(key)
        if known is not None:
            return known
        try:
            result = self._searcher.search(
                SearchRequest(queries=(text,), max_k=self._k, within=view.within, near=0)
            )
        except SearchRequestError:
            found: tuple[str, ...] = ()
        except Exception:  # noqa: BLE001 - the model can still search by itself, so the message goes through
            _log.warning("No tools were preselected, as the search failed.", exc_info=True)
            return ()
        else:
            found = tuple(name for name in result.names if name in view.tools)
        with self._lock:
            self._kept[key] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found
