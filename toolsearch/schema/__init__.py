"""Input schemas: checked and mended when read, inlined for some providers, flattened for the index."""

from toolsearch.schema.check import CheckedSchema, check_schema
from toolsearch.schema.fields import ParameterField, parameter_fields
from toolsearch.schema.inline import inline_refs

__all__ = ["CheckedSchema", "ParameterField", "check_schema", "inline_refs", "parameter_fields"]
