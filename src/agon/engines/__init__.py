"""Adapters behind the `Engine` port, the weights they need, and a scriptable engine server."""
