-- The conflict graph of one slice. u < v are canonical row ranks (tuple_row.id); dc is the position of the first
-- constraint, among the distinct ones as given, that the pair violates. Rows lie in the canonical edge order (u, dc, v).
CREATE TABLE conflict_edge (u UINTEGER NOT NULL, v UINTEGER NOT NULL, dc USMALLINT NOT NULL);
