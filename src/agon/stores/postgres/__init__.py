"""The ledger on PostgreSQL. SQL lives in `sql/`, one file a subject; the schema grows by `migrations/`."""
