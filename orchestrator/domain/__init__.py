"""Pure rules: no SQL, no Celery, no I/O."""
