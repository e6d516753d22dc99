-- The view `conflict` of an exported graph: each conflict with the rule that it violates first, and its rows in the
-- source. For the owner (`dpdb exact --materialize`).
SELECT violated.text AS "constraint", a.source_row AS row_1, b.source_row AS row_2
FROM conflict_edge AS e
JOIN violated USING (dc)
JOIN tuple_row AS a ON a.id = e.u
JOIN tuple_row AS b ON b.id = e.v
