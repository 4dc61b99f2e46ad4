"""Lint: what is wrong with the definitions of a catalog, or suspicious, or hard to find."""

from toolsearch.lint.finding import SEVERITIES, Finding, Rule, Severity
from toolsearch.lint.linter import RULES, lint_catalog, lint_texts

__all__ = ["RULES", "SEVERITIES", "Finding", "Rule", "Severity", "lint_catalog", "lint_texts"]
