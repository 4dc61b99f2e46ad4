"""Drop-in proxies: a provider's own API, with tool search inside."""
