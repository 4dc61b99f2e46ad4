"""Semantic tool search for large tool catalogs."""
