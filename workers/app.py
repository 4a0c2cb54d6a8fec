"""What `celery -A workers.app` runs: the app of the settings in the environment."""

from __future__ import annotations

from orchestrator.config import Config
from workers.make import make_app

app = make_app(Config.from_env())
# A pool process that is a fresh interpreter (macOS) gets a copy of the app, and the tasks from this module.
app.conf.include = [__name__]
