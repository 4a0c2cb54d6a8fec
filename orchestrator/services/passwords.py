"""Passwords as they are stored: scrypt, with a salt of their own (RFC 7914)."""

from __future__ import annotations

import hashlib
import hmac
import secrets

_COST, _BLOCK, _PARALLEL = 1 << 15, 8, 1
_MEMORY = 64 << 20
LEAST, MOST = 10, 1000  # characters


def hash_password(password: str) -> str:
    """`scrypt:cost:block:parallel$salt$hash`."""
    salt = secrets.token_hex(16)
    return f"scrypt:{_COST}:{_BLOCK}:{_PARALLEL}${salt}${_scrypt(password, salt, _COST, _BLOCK, _PARALLEL)}"


def is_password(stored: str, password: str) -> bool:
    """Whether the password is the one stored; takes as long whether or not it is."""
    method, salt, expected = stored.split("$")
    cost, block, parallel = map(int, method.split(":")[1:])
    return hmac.compare_digest(_scrypt(password, salt, cost, block, parallel), expected)


# Compared with when nobody has the name, so that the answer takes as long.
NOBODYS = f"scrypt:{_COST}:{_BLOCK}:{_PARALLEL}$none${'0' * 128}"


def _scrypt(password: str, salt: str, cost: int, block: int, parallel: int) -> str:
    return hashlib.scrypt(
        password.encode(errors="surrogatepass"), salt=salt.encode(), n=cost, r=block, p=parallel, maxmem=_MEMORY
    ).hex()
