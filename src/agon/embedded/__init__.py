"""Launchers for the PostgreSQL and Valkey that come as wheels."""
