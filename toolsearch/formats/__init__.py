"""The wire forms of a tool definition: one form a module, read and written."""
