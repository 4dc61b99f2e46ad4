"""From a request to the tools that fit: channels, fusion and cut."""
