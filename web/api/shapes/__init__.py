"""The shapes of answers. They document: what the reads give is sent as it is, and tests compare."""
