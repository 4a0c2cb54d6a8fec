"""Read a pack from files that were sent: by path, or in an archive (zip, tar, tar.gz, tar.bz2, tar.xz).

Nothing is written to the disk, and no more is unpacked than a pack may hold.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import IO

from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.domain.load import load_text
from orchestrator.domain.pack import MANIFEST, Pack, in_file, make_pack
from orchestrator.errors import InvalidPack, Problem, ProblemsError
from orchestrator.services.pack_folder import FOLDER, SUFFIXES

MOST_FILES = 10_000  # in an archive, whatever they are
_MOST_PASSED = 64 << 20  # bytes of a tar, which is gone through from its beginning
_BROKEN = (
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
Files = Mapping[str, "str | bytes"]


def pack_of_files(files: Files, *, limits: Limits = LIMITS) -> Pack:
    """The pack whose files these are: `pack.yaml` and `workflows/*.yaml`, all others are not looked at.

    They may lie in one folder, as archives of repositories have them. Raises `InvalidPack` with all problems.
    """
    problems: list[Problem] = []
    read = {path: _data(path, text, limits, problems) for path, text in _relevant(_below_top(files))}
    if MANIFEST not in read:
        raise InvalidPack([Problem(MANIFEST, "is missing: a pack has this file, and its workflows in workflows/")])
    manifest = read.pop(MANIFEST)
    return make_pack(manifest, {path: data for path, data in read.items() if data is not None}, limits, problems)


def pack_of_archive(archive: bytes, *, limits: Limits = LIMITS) -> Pack:
    """The same for the files of an archive. Links and whatever else is no plain file are not looked at."""
    try:
        return pack_of_files(dict(_unpacked(archive, limits)), limits=limits)
    except _BROKEN as error:
        raise _refused(f"it cannot be unpacked: {error}") from error


def _unpacked(archive: bytes, limits: Limits) -> Iterator[tuple[str, bytes]]:
    left = 4 * limits.document_bytes  # together: as much as a request may send without packing it
    members = _zipped if zipfile.is_zipfile(io.BytesIO(archive)) else _tarred
    for count, (path, file) in enumerate(members(archive)):
        if count >= MOST_FILES:
            raise _refused(f"it has more than {MOST_FILES} files")
        if not _is_relevant(_parts(path)[-2:]):
            continue
        text = file.read(left + 1)
        left -= len(text)
        if left < 0:
            raise _refused(f"its documents are larger than {4 * limits.document_bytes} bytes together")
        yield path, text


def _zipped(archive: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for member in opened.infolist():
            if not member.is_dir():
                with opened.open(member) as file:
                    yield member.filename, file


def _tarred(archive: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r|*") as opened:
        for member in opened:
            if member.offset_data + member.size > _MOST_PASSED:
                raise _refused(f"it holds more than {_MOST_PASSED} bytes")
            file = opened.extractfile(member) if member.isreg() else None
            if file is not None:
                yield member.name, file


def _below_top(files: Files) -> Iterator[tuple[tuple[str, ...], str | bytes]]:
    """The files by the parts of their paths; without the folder that holds them all."""
    by_parts = [(_parts(path), text) for path, text in files.items()]
    at_top = any(parts == (MANIFEST,) for parts, _ in by_parts)
    tops = {parts[0] for parts, _ in by_parts if parts[1:] == (MANIFEST,)}
    for parts, text in by_parts:
        if at_top:
            yield parts, text
        elif len(tops) == 1 and parts[:1] == tuple(tops):
            yield parts[1:], text


def _relevant(files: Iterator[tuple[tuple[str, ...], str | bytes]]) -> Iterator[tuple[str, str | bytes]]:
    yield from sorted(("/".join(parts), text) for parts, text in files if _is_relevant(parts))


def _is_relevant(parts: tuple[str, ...]) -> bool:
    """Whether it is the manifest or a document, by the last parts of its path."""
    if not parts or parts[-1].startswith("."):
        return False
    if parts[-1] == MANIFEST and parts[:-1] != (FOLDER,):
        return True
    return len(parts) == 2 and parts[0] == FOLDER and PurePosixPath(parts[1]).suffix.lower() in SUFFIXES


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.replace("\\", "/").split("/") if part not in ("", "."))


def _data(path: str, text: str | bytes, limits: Limits, problems: list[Problem]) -> object:
    try:
        return load_text(text, limits=limits)
    except ProblemsError as error:
        problems += [in_file(path, problem) for problem in error.problems]
        return None


def _refused(why: str) -> InvalidPack:
    return InvalidPack([Problem("", why)], "the archive is invalid")
