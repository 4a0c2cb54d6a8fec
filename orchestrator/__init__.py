"""A durable workflow orchestrator for teams that run Python, Celery and Postgres."""
