"""Measuring `toolsearch`: data sets, conditions, scale, and the report over them."""
