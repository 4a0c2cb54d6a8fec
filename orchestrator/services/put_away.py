"""What an attempt was given and gave goes to the blob store before it is settled, if it is large."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.domain.blobs import QUOTED, Blob, about, folder_of, loads, references, replaced
from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.errors import BlobGone
from orchestrator.services.blobs import Blobs
from orchestrator.services.claim import Claimed
from orchestrator.services.engine import Engine
from orchestrator.store.transition import as_text


def put_away(engine: Engine, claimed: Claimed, outcome: Outcome, input_json: str | None) -> tuple[Outcome, str | None]:
    """The outcome and the JSON text of the input as they may be stored; raises `BlobsAway`.

    Done twice it does nothing the second time. A value that another run has put away is copied: each run has its own.
    """
    blobs = engine.blobs
    if not blobs:
        return outcome, input_json
    given, gave = input_json, outcome.output_json
    try:
        if given is not None and _concerns(blobs, given):
            given = _away(blobs, claimed, given, "input")
        if gave is not None and _concerns(blobs, gave):
            gave = _away(blobs, claimed, gave, "output", about(outcome.output))
    except BlobGone as error:
        return Outcome.failed(ErrorInfo("BlobGone", str(error), classes=("BlobGone",)), final=True), None
    return outcome if gave is outcome.output_json else outcome.stored_as(loads(gave or "null"), gave), given


def path_of(claimed: Claimed, what: str) -> str:
    """Where a value of an attempt lies: no other attempt ever has the same place."""
    attempt = f"{claimed.attempt}-{claimed.token}-{what}.json"
    return f"{folder_of(claimed.run_id)}/{claimed.step_id}/{attempt}"


def _concerns(blobs: Blobs, text: str) -> bool:
    return QUOTED in text or blobs.is_large(text)


def _away(blobs: Blobs, claimed: Claimed, text: str, what: str, told: str | None = None) -> str:
    if QUOTED in text:
        text = _owned(blobs, claimed.run_id, text)
    return str(as_text(blobs.put(path_of(claimed, what), text, told))) if blobs.is_large(text) else text


def copy_kept(engine: Engine, texts: Iterable[str], run_id: str) -> None:
    """Copy what these JSON texts refer to, to blobs of the run: those of the run that it repeats may be removed.

    Raises `BlobGone`, `BlobsAway`.
    """
    for path, blob in {blob.path: blob for text in texts for blob in references(loads(text))}.items():
        if not path.startswith(folder_of(run_id)):
            engine.blobs.copy(blob, run_id)


def _owned(blobs: Blobs, run_id: str, text: str) -> str:
    """The same with references to blobs of this run only."""
    own = folder_of(run_id) + "/"
    value, made = loads(text), dict[str, Blob]()

    def mine(blob: Blob) -> Blob:
        if blob.path.startswith(own):
            return blob
        if blob.path not in made:
            made[blob.path] = blobs.copy(blob, run_id)
        return made[blob.path]

    changed = replaced(value, mine)
    return str(as_text(changed)) if made else text
