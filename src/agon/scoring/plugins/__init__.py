"""Scorers that come as plug-ins: how they are found, and two that are shipped."""
