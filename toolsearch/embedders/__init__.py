"""Embedding models behind one protocol: one backend a module."""
