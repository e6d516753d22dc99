-- The conflict graph of one slice: u < v are canonical ranks of rows (tuple_row.id), dc is the place of the first rule
-- that the pair violates, among the distinct ones as given. Rows lie in the canonical edge order (u, dc, v).
CREATE TABLE $edges (u UINTEGER NOT NULL, v UINTEGER NOT NULL, dc USMALLINT NOT NULL)
