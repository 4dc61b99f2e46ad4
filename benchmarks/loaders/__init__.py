"""Data sets from packages of the Python registry, in the form that `toolsearch eval` reads."""
