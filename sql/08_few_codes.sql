-- The codes of one column of few rows: the rank of each value among the values. NULL has none.
-- Codes keep every comparison of two values of a column, and are small integers.
SELECT $place, row.$number, dense_rank() OVER (ORDER BY row.$column) - 1
FROM $rows AS row
WHERE row.$column IS NOT NULL
