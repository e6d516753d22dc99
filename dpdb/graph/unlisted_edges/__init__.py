"""A conflict graph whose edges are never listed: rows in blocks, by which edges are counted and scanned."""
