"""What a status looks like: an icon of its own and its word, so that no colour is needed to read it."""

from __future__ import annotations

from collections.abc import Mapping

# Paths in a box of 16 by 16, drawn as lines.
ICONS: Mapping[str, str] = {
    # Statuses.
    "succeeded": "M3 8.5 6.5 12 13 4.5",
    "failed": "M4 4l8 8M12 4l-8 8",
    "running": "M5 3.5v9l7.5-4.5z",
    "waiting": "M4.5 2.5h7M4.5 13.5h7M5.5 2.5c0 3 5 4 5 5.5s-5 2.5-5 5.5M10.5 2.5c0 3-5 4-5 5.5s5 2.5 5 5.5",
    "queued": "M3 4.5h10M3 8h10M3 11.5h6",
    "ready": "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 8h.01",
    "pending": "M3.5 8h.01M8 8h.01M12.5 8h.01",
    "canceled": "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M4.2 4.2l7.6 7.6",
    "canceling": "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M5.5 8h5",
    "skipped": "M3 4l4 4-4 4M8.5 4l4 4-4 4",
    "upstream_failed": "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.01",
    "paused": "M5.5 3.5v9M10.5 3.5v9",
    "held": "M5 7.5V5.5a3 3 0 0 1 6 0v2M3.5 7.5h9v6h-9z",
    "cached": "M13 8a5 5 0 1 1-1.7-3.8M13 2.5v3h-3",
    # Places and acts.
    "home": "M2.5 7.5 8 2.5l5.5 5M4 6.5v7h8v-7",
    "runs": "M2.5 4h2M2.5 8h2M2.5 12h2M7 4h6.5M7 8h6.5M7 12h6.5",
    "workflows": "M2.5 2.5h4v4h-4zM9.5 9.5h4v4h-4zM4.5 6.5v5h5",
    "schedules": "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 5v3l2.2 1.6",
    "approvals": "M2.5 3h11v10h-11zM5.5 8l2 2 3.5-4",
    "pools": "M2.5 4.5h11v3h-11zM2.5 9.5h11v3h-11zM4.5 6h.01M4.5 11h.01",
    "workers": "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14",
    "audit": "M4 2.5h6l2.5 2.5v8.5H4zM6 7.5h4.5M6 10.5h4.5",
    "tokens": "M5 8.5a2.5 2.5 0 1 1 .01 0M7 7l6.5 6.5M11 11l1.5-1.5",
    "search": "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.3 10.3l3.2 3.2",
    "close": "M4 4l8 8M12 4l-8 8",
    "menu": "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
    "theme": "M8 2.5a5.5 5.5 0 1 1 0 11zM8 2.5a5.5 5.5 0 0 0 0 11",
    "book": "M8 4.2C6.6 3.2 4.8 2.8 2.5 3v9c2.3-.2 4.1.2 5.5 1.2 1.4-1 3.2-1.4 5.5-1.2V3C11.2 2.8 9.4 3.2 8 4.2v9",
    "help": "M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.8v.01",
    "leave": "M9.5 3H3v10h6.5M7 8h6.5M11 5.5 13.5 8 11 10.5",
    "back": "M10 3.5 5.5 8l4.5 4.5",
    "next": "M6 3.5 10.5 8 6 12.5",
    "down": "M3.5 6 8 10.5 12.5 6",
    "plus": "M8 3v10M3 8h10",
    "minus": "M3 8h10",
    "fit": "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
    "retry": "M13 8a5 5 0 1 1-1.7-3.8M13 2.5v3h-3",
    "cancel": "M4 4h8v8H4z",
    "signal": "M8 8v5.5M8 6.5v.01M5 9.5a4.2 4.2 0 1 1 6 0M3 11.5a7 7 0 1 1 10 0",
    "compare": "M5 2.5v11M11 2.5v11M2.5 5.5 5 3l2.5 2.5M8.5 10.5 11 13l2.5-2.5",
    "child": "M4 2.5v6h8M9.5 6 12 8.5 9.5 11",
    "warning": "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.01",
    "info": "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 7.5v3M8 5.3v.01",
    "star": "M8 2.5 9.7 6l3.8.5-2.8 2.6.7 3.9L8 11.2 4.6 13l.7-3.9L2.5 6.5 6.3 6z",
}


def status_word(status: str) -> str:
    """The word people read: `upstream failed`."""
    return status.replace("_", " ")
