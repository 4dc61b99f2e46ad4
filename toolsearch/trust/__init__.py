"""Trust: what tools said of themselves when they were approved, and what becomes of those that change."""

from toolsearch.trust.definition import PinnedDefinition
from toolsearch.trust.diff import definition_diff
from toolsearch.trust.file import TrustFile
from toolsearch.trust.guard import GuardedSource, TrustGuard
from toolsearch.trust.policy import Policy, TrustPolicy
from toolsearch.trust.record import TrustEntry, TrustRecord
from toolsearch.trust.review import Review, TrustFinding, review

__all__ = [
    "GuardedSource",
    "PinnedDefinition",
    "Policy",
    "Review",
    "TrustEntry",
    "TrustFile",
    "TrustFinding",
    "TrustGuard",
    "TrustPolicy",
    "TrustRecord",
    "definition_diff",
    "review",
]
