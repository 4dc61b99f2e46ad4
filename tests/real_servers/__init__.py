"""MCP servers and an OpenAPI document that nobody here wrote, over real transports.

They are installed apart, so that their pins never meet ours: ``python -m tests.real_servers install``.
"""
