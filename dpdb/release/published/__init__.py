"""The values published: the release with its words, pages, tables, changes and gates. Reads released numbers only."""
