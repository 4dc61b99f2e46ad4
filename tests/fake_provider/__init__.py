"""A model provider for tests: speaks the three forms, streamed and not, and refuses what providers refuse."""

from tests.fake_provider.answers import Answer, Call, Failure
from tests.fake_provider.provider import FakeProvider

__all__ = ["Answer", "Call", "Failure", "FakeProvider"]
