"""Secrets that must be read again, as they are stored: encrypted with a key that is made from SECRET_KEY.

Fernet (AES-128-CBC with HMAC-SHA256) of `cryptography`: to check an HMAC one needs the secret itself, so a hash will
not do, and a signature such as itsdangerous makes hides nothing. Its key is derived by HKDF, so that it is of no use
for sessions, and those keys of none here.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from orchestrator.errors import Conflict

PASSING = "passing:"  # begins a key that ends with its process, so that nothing is stored under it
_PURPOSE = b"orchestrator hooks 1"


class Unsealed(Conflict):
    """What is stored was encrypted under another SECRET_KEY."""


class Seal:
    """Encrypts and decrypts with one SECRET_KEY."""

    def __init__(self, secret_key: str | None) -> None:
        lasts = secret_key is not None and not secret_key.startswith(PASSING)
        self._fernet = Fernet(_key(secret_key)) if secret_key is not None and lasts else None

    def close(self, secret: str) -> str:
        """Encrypt it; raises `Conflict` without a SECRET_KEY."""
        return self._with_key().encrypt(secret.encode()).decode()

    def open(self, sealed: str) -> str:
        """Decrypt it; raises `Unsealed`, and `Conflict` without a SECRET_KEY."""
        try:
            return self._with_key().decrypt(sealed).decode()
        except InvalidToken as error:
            raise Unsealed("the secret was stored under another SECRET_KEY: give it a new one") from error

    def _with_key(self) -> Fernet:
        if self._fernet is None:
            raise Conflict("this needs SECRET_KEY, the same for all processes: what is secret is encrypted with it")
        return self._fernet


def _key(secret_key: str) -> bytes:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret_key.encode())
    return base64.urlsafe_b64encode(derived)
