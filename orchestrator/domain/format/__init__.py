"""The format of documents as marshmallow schemas: the one source of what `parse` takes and of its JSON Schema."""
