"""All tables of one place in another engine, read over one connection or in one session."""
