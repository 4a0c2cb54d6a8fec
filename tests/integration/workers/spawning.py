"""The app of a worker whose pool processes are fresh interpreters, as they are on macOS."""

from __future__ import annotations

from workers.app import app

app.conf.worker_pool_start_method = "spawn"
