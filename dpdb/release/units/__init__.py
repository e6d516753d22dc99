"""The unit that a release protects, also with rows of other tables."""
