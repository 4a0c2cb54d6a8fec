"""One file that is imported, with what its metadata says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.convert.report import Report
from orchestrator.convert.schemas import schema_of

# What an action's metadata file says that is used, and what has no meaning here.
_USED = ("name", "ref", "pack", "label", "description", "tags", "parameters", "entry_point", "workflow_file", "output")
_USED_TOO = ("runner_type", "enabled", "output_schema", "version")


@dataclass(frozen=True, slots=True)
class Source:
    """`data`: the document, read; `file`: how it is called in messages; `metadata`: the action that names it."""

    file: str
    data: Any
    name: str
    text: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, Any] | None:
        found = self.metadata.get("parameters")
        return found if isinstance(found, Mapping) else None

    @property
    def told(self) -> str:
        return self.file.rpartition("/")[2] or self.file

    def about(self, report: Report) -> dict[str, Any]:
        """Label, description and tags of the metadata; what else it says is reported."""
        for key in self.metadata:
            if key not in (*_USED, *_USED_TOO):
                report.ignored(("metadata", key), "of the action's metadata has no meaning here")
        if self.metadata.get("enabled") is False:
            report.note(("metadata", "enabled"), "is not enabled there", "do not register it, or do not start it")
        about = {key: self.metadata[key] for key in ("label", "description") if self.metadata.get(key)}
        tags = self.metadata.get("tags")
        if isinstance(tags, list) and tags:
            about["tags"] = [_tag(tag) for tag in tags]
        return about


def _tag(tag: Any) -> str:
    return f"{tag.get('name')}={tag.get('value')}" if isinstance(tag, Mapping) else str(tag)


def input_schema(parameters: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """The schema of a workflow's parameters."""
    return {"input_schema": schema_of(parameters, ("parameters",), report)} if parameters else {}
