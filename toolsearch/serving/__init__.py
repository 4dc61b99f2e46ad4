"""Serving: tools of this package for the clients of others."""
