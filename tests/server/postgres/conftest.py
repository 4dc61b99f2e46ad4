"""A database for each test, with the tables of this release."""

from collections.abc import Iterator

import pytest

from tests.postgres.support import upgraded_database
from toolsearch.postgres.url import DatabaseUrl


@pytest.fixture
def url() -> Iterator[DatabaseUrl]:
    with upgraded_database() as url:
        yield url
