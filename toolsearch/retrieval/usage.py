"""`LearnedUsage`: past requests of each tenant, and which tools served them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from toolsearch.api.usage import Outcome
from toolsearch.checks import check_whole
from toolsearch.embedders.base import Vectors
from toolsearch.retrieval.usage_score import Evidence, Key, Past, UsageWeights, usage_support

PER_SESSION = 3
"""Requests of one session that are kept for one tool."""

PER_HOUR = 10
"""Requests of one hour that are kept for one tool, whatever sessions they come from."""

PER_TOOL = 200
"""Requests that are kept for one tool of a tenant."""

_RECENT_KEPT = 512


@dataclass(frozen=True)
class UsageEvent:
    """What became of one tool for one request.

    Attributes:
        tool: Public name.
        document: Digest of the text of the tool that is embedded, as the index keeps it.
        outcome: It was called, it succeeded or failed, or somebody judged it.
        vector: The request as a unit row (dim,); its text is not kept.
        session_id: The conversation; those without one count together, hour by hour.
        tenant: On whose behalf. Nothing that is learned of one tenant reaches another.
        at: Seconds since 1970.
    """

    tool: str
    document: bytes
    outcome: Outcome
    vector: Vectors
    session_id: str = ""
    tenant: str = ""
    at: float = 0.0


class LearnedUsage:
    """Remembers requests as vectors, and lifts tools that served requests like the one at hand.

    Bounded in memory, the oldest requests go first. Safe to use from several threads; what is learned counts
    from the next search on.

    >>> searcher = ToolSearcher(index, embedder, usage=LearnedUsage())
    >>> searcher.learn("refund an order", "shop__refund", session_id="s1")
    """

    def __init__(
        self,
        *,
        weights: UsageWeights | None = None,
        max_requests: int = 50_000,
        max_per_tenant: int = 4_000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Has learned nothing yet.

        Args:
            weights: How much past requests count.
            max_requests, max_per_tenant: Requests that are kept, in all and of one tenant; each takes as
                many floats as the encoder has dimensions. Beyond the first, the tenant with most of them
                forgets its oldest.
            clock: Seconds since 1970.

        Raises:
            ValueError, TypeError: a bound that keeps nothing.
        """
        check_whole("max_requests", max_requests)
        check_whole("max_per_tenant", max_per_tenant)
        self.weights = weights or UsageWeights()
        self.max_requests = max_requests
        self.max_per_tenant = max_per_tenant
        self._clock = clock
        self._embedder_id: str | None = None
        self._lock = threading.Lock()
        self._tenants: dict[str, Past] = {}
        self._recent: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    def __len__(self) -> int:
        """Requests that are kept, one for each tool that they led to."""
        return sum(map(len, self._tenants.values()))

    @property
    def embedder_id(self) -> str | None:
        """Of the embedder whose vectors these are; None until a searcher has said so."""
        return self._embedder_id

    def bind(self, embedder_id: str) -> None:
        """Take vectors of this embedder alone.

        Raises:
            ValueError: it has learned with another.
        """
        if self._embedder_id not in (None, embedder_id):
            raise ValueError(
                f"The usage was learned with the embedder {self._embedder_id!r}, not {embedder_id!r}. "
                "Give each embedder a LearnedUsage of its own."
            )
        self._embedder_id = embedder_id

    def now(self) -> float:
        """Seconds since 1970, by the clock that it was given."""
        return self._clock()

    def remember(self, tenant: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep the rows of the latest searches, so that what becomes of them need not be embedded again.

        By tenant, as how long it takes to learn must not tell what others have searched for.
        """
        with self._lock:
            for text, vector in vectors.items():
                self._recent[tenant, text] = vector
                self._recent.move_to_end((tenant, text))
            while len(self._recent) > _RECENT_KEPT:
                self._recent.popitem(last=False)

    def remembered(self, tenant: str, text: str) -> Vectors | None:
        """The row of a text that the tenant has searched for lately."""
        with self._lock:
            return self._recent.get((tenant, text))

    def learn(self, event: UsageEvent) -> None:
        """Let `event` count. Of one request, tool and session what is said last of a judgement holds."""
        with self._lock:
            past = self._tenants.setdefault(event.tenant, Past())
            # Without a session there is no telling who is who, so those of an hour count as one.
            session = event.session_id or f"\n{int(event.at // 3600)}"
            key = Key(event.tool, event.document, session, event.vector.tobytes())
            known = past.get(key)
            if known is None:
                self._make_room(past, key, event.at)
            past.put(key, event.vector, _after(known, event))
            while len(self) > self.max_requests:
                largest = max(self._tenants, key=lambda tenant: len(self._tenants[tenant]))
                self._tenants[largest].drop_oldest()
                if not len(self._tenants[largest]):
                    del self._tenants[largest]

    def supports(self, vectors: Vectors, tenant: str) -> Mapping[tuple[str, bytes], float]:
        """How far requests like one of `vectors` (n, dim) support tools, above 0 and below 1.

        By public name and digest of the text that is embedded; tools that are not in it have no support.
        """
        with self._lock:
            past = self._tenants.get(tenant)
            if past is None:
                return {}
            return usage_support(past, vectors, now=self._clock(), weights=self.weights)

    def forget(self, tenant: str | None = None, *, tool: str | None = None) -> None:
        """Forget what was learned: of all tenants for None, and of one tool or of all."""
        with self._lock:
            for recent in [each for each in self._recent if tenant in (None, each[0])]:
                del self._recent[recent]
            for name in [tenant] if tenant is not None else list(self._tenants):
                past = self._tenants.get(name)
                if past is not None and tool is not None:
                    past.drop(key for key in past.of_tool(tool))
                if past is not None and (tool is None or not len(past)):
                    del self._tenants[name]

    def _make_room(self, past: Past, key: Key, at: float) -> None:
        """Drop what one more request of the tool leaves no room for, the oldest first."""
        bounds: tuple[tuple[Callable[[Key], bool], int], ...] = (
            (lambda each: each.session == key.session, PER_SESSION),
            (lambda each: past.evidence(each).at // 3600 == at // 3600, PER_HOUR),
            (lambda each: True, PER_TOOL),
        )
        for counts, most in bounds:
            kept = [each for each in past.of_tool(key.tool) if counts(each)]
            past.drop(kept[: max(len(kept) - most + 1, 0)])
        while len(past) >= self.max_per_tenant:
            past.drop_oldest()


def _after(known: Evidence | None, event: UsageEvent) -> Evidence:
    """What is known of a request and a tool once `event` has been told, too."""
    good, bad = (0.0, 0.0) if known is None else (known.good, known.bad)
    match event.outcome:
        case "called":
            good = max(good, CALLED if not bad else 0.0)
        case "succeeded":
            good, bad = 1.0, 0.0
        case "failed":
            # That it failed does not say that it was the wrong tool.
            good, bad = (0.0, max(bad, FAILED)) if good < 1 else (good, bad)
        case "relevant":
            good, bad = 1.0, 0.0
        case "irrelevant":
            good, bad = 0.0, 1.0
    return Evidence(good, bad, event.at)


CALLED = 0.5
"""What a call counts whose result nobody told."""

FAILED = 0.5
"""What a failure counts against a tool; a judgement counts 1."""
