"""An empty database for each test."""

from collections.abc import Iterator

import pytest

from tests.postgres.support import new_database
from toolsearch.postgres.url import DatabaseUrl


@pytest.fixture
def url() -> Iterator[DatabaseUrl]:
    with new_database() as url:
        yield url
