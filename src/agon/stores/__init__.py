"""Adapters: the ledger on PostgreSQL; the bus and the boards on Redis."""
