-- The edges that are listed beside blocks, by their first rows.
-- So each pair can be shown to come once.
SELECT listed.u, listed.v FROM $edges AS listed ORDER BY listed.u
