"""Routes by subject; each is a few lines around a use case."""
