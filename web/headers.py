"""Headers that every answer carries."""

from __future__ import annotations

from flask import Response

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def add_security_headers(response: Response) -> Response:
    """Set what the view has not set itself."""
    there = {name.lower() for name, _ in response.headers}
    for name, value in _HEADERS.items():
        if name.lower() not in there:
            response.headers.add(name, value)
    return response
