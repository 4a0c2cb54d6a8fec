"""The built-in functions; importing this registers them all."""

from workers.functions import email, http, python, shell, sql

__all__ = ["email", "http", "python", "shell", "sql"]
