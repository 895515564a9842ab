"""The background worker: Celery tasks of a few lines around the use cases."""
