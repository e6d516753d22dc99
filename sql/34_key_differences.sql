-- How many keys the left table lacks, how many the right one lacks, and of how many both have rows, but other ones.
-- Rows of a key are compared as multisets, without a join: no pair of rows is ever counted.
SELECT
    count(*) FILTER (WHERE keyed.left_rows = 0) AS missing_left,
    count(*) FILTER (WHERE keyed.right_rows = 0) AS missing_right,
    count(*) FILTER (WHERE keyed.left_rows > 0 AND keyed.right_rows > 0 AND keyed.differs) AS differ
FROM (
    SELECT sum(valued.left_rows) AS left_rows, sum(valued.right_rows) AS right_rows,
        bool_or(valued.left_rows <> valued.right_rows) AS differs
    FROM (
        SELECT row.$key, sum(row.left_rows) AS left_rows, sum(row.right_rows) AS right_rows
        FROM $rows AS row
        GROUP BY row.$value
    ) AS valued
    GROUP BY valued.$key
) AS keyed
