"""The log of the web process: gunicorn's lines, the application's, and those of requests, in one form."""

from __future__ import annotations

import datetime
import logging
import sys
from collections.abc import Mapping
from typing import Any

from flask import g, has_request_context
from gunicorn.glogging import Logger

from orchestrator.config import Config
from orchestrator.domain.masking import Masker
from orchestrator.loglines import adopt_structlog, make_formatter, to_stream


def facts() -> Mapping[str, Any]:
    """What a line made here is about."""
    return {"request_id": g.request_id} if has_request_context() and "request_id" in g else {}


class Lines(Logger):  # type: ignore[misc]  # it has no types
    """What gunicorn logs with: everything goes to stderr by the root logger."""

    def setup(self, cfg: Any) -> None:
        """Called by gunicorn before it forks; a configuration of logging that it was given is left as it is."""
        super().setup(cfg)
        if cfg.logconfig or cfg.logconfig_dict or cfg.logconfig_json:
            return
        config = Config.from_env(need=())
        secrets = Masker(config.secrets.values())
        handler = to_stream(sys.stderr, make_formatter(config.log_format, lambda: secrets, facts))
        root = logging.getLogger()
        root.handlers = [handler]
        root.setLevel(config.log_level)
        for own in (self.error_log, self.access_log):
            own.handlers, own.propagate = [], True
        self.access_log.setLevel(logging.INFO if cfg.accesslog else logging.CRITICAL)
        logging.captureWarnings(True)
        adopt_structlog()

    def access(self, resp: Any, req: Any, environ: Mapping[str, Any], request_time: datetime.timedelta) -> None:
        """A request was answered, whether its sender has waited for it or not. The query is nobody's business."""
        if not self.access_log.isEnabledFor(logging.INFO):
            return
        told = {
            "method": environ.get("REQUEST_METHOD"),
            "path": environ.get("PATH_INFO"),
            "status": resp.status_code,
            "bytes": getattr(resp, "sent", None),
            "seconds": request_time.total_seconds(),
            "client": environ.get("REMOTE_ADDR"),
            "request_id": dict(resp.headers).get("X-Request-Id"),
        }
        line = f"{told['method']} {told['path']!r} {told['status']}"
        self.access_log.info("%s", line, extra={name: value for name, value in told.items() if value is not None})
