"""The unit that a release protects, and what other tables have to do with it."""
