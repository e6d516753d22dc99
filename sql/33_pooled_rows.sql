-- The rows of two tables, each by its key and compared values: how often either table has it.
-- Rows with equal values are one row here, so a table that repeats them is no larger than its different rows.
CREATE TABLE $target AS
SELECT pooled.$value, sum(pooled.in_left) AS left_rows, sum(pooled.in_right) AS right_rows
FROM (
    SELECT one.$value, 1 AS in_left, 0 AS in_right FROM $left AS one
    UNION ALL
    SELECT other.$value, 0 AS in_left, 1 AS in_right FROM $right AS other
) AS pooled
GROUP BY pooled.$value
