"""Measures of retrieval quality, and running them over a data set."""
