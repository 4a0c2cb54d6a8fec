"""Documents of other engines to workflow documents of ours, with a report of what could not be carried over."""
