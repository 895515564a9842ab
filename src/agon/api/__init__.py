"""The HTTP edge: routes, schemas, event streams, and the only place with status codes."""
