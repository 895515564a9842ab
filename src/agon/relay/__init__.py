"""Requests in the words of OpenAI's API: to a model's servers as they are, or over the bus to one inside a runner."""
