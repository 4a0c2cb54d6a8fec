"""Use cases, one verb a file. Web, command line, client and workers call the same ones."""
