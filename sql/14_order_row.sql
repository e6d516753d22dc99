-- An order rule: the rows with dense ranks, one over (group, first column) and one over (group, second column).
-- Groups follow one another in both, so one rank above and the other below alone is a conflict.
SELECT t.*, dense_rank() OVER (ORDER BY $first) AS $x, dense_rank() OVER (ORDER BY $second) AS $y
FROM $rows AS t
WHERE $known
