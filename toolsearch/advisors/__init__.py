"""The chain around a model: the tool-calling loop, tool search, memory and approval."""
