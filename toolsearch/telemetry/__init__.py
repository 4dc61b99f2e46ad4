"""Runs seen from outside: receipts, logs, OpenTelemetry, and the advisors that show a run to them."""

from toolsearch.telemetry.advisors import observed_by
from toolsearch.telemetry.base import ObservedCall, ObservedRound, ObservedRun, Observer, RunObserver, Within
from toolsearch.telemetry.log import LogObserver
from toolsearch.telemetry.otel import OpenTelemetryObserver
from toolsearch.telemetry.receipt import (
    Prices,
    ReceiptObserver,
    RoundReceipt,
    RunReceipt,
    SearchReceipt,
)

__all__ = [
    "LogObserver",
    "ObservedCall",
    "ObservedRound",
    "ObservedRun",
    "Observer",
    "OpenTelemetryObserver",
    "Prices",
    "ReceiptObserver",
    "RoundReceipt",
    "RunObserver",
    "RunReceipt",
    "SearchReceipt",
    "Within",
    "observed_by",
]
