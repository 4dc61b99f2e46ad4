"""The resources of the API: one module each, which parses, calls down and answers."""
