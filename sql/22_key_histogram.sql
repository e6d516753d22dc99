-- The same of a key, where each row of a group is a class of its own.
-- Groups of equal size are alike.
SELECT CAST(NULL AS BIGINT[]) AS sizes, grouped.singles, count(*) AS groups
FROM (SELECT $named, count(*) AS singles FROM $rows AS row WHERE $known GROUP BY row.$group) AS grouped
GROUP BY grouped.singles
