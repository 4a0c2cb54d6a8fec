"""Gunicorn's settings for the web process: what it does as it begins to serve."""

from __future__ import annotations

import threading
from typing import Any

from flask import Flask


def post_worker_init(worker: Any) -> None:
    """Called by gunicorn in each of its processes: get ready beside the first requests, so that none waits for all."""
    threading.Thread(target=read_templates, args=(worker.wsgi,), name="templates", daemon=True).start()


def read_templates(app: Flask) -> None:
    """Compile the templates of all pages, which takes as long as fifty pages from then on."""
    for name in app.jinja_env.list_templates(extensions=["html"]):
        app.jinja_env.get_template(name)
