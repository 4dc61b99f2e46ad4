"""Fixtures for all tests of the index."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug on these tests, and waiting for the disk is most of their time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
