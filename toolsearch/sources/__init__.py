"""Where tools come from: one kind of tool source a module."""
