-- The groups of a dependency, by the sizes of their classes: large ones as a list, those of one row as a number.
-- Of a group nothing else decides how many conflicts it has, so groups that are alike are counted together.
SELECT grouped.sizes, grouped.singles, count(*) AS groups
FROM (
    SELECT class.$names,
        array_agg(class.size) FILTER (WHERE class.size > 1) AS sizes,
        count(*) FILTER (WHERE class.size = 1) AS singles
    FROM (SELECT $named, count(*) AS size FROM $rows AS row WHERE $known GROUP BY row.$group) AS class
    GROUP BY class.$names
) AS grouped
GROUP BY grouped.sizes, grouped.singles
