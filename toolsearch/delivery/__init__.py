"""How discovered tools reach the model without breaking its prompt cache: one way a module."""
