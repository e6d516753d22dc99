-- The same where rows that meet one condition may not meet, in a group, rows that meet the other.
-- Rows of side 1 are a class, those of side 2 are one, and each row of side 0, which meets both, is a class of its own.
SELECT grouped.sizes, grouped.singles, count(*) AS groups
FROM (
    SELECT class.$names,
        array_agg(class.size) FILTER (WHERE class.side > 0 AND class.size > 1) AS sizes,
        CAST(coalesce(sum(
            CASE WHEN class.side = 0 THEN class.size WHEN class.side > 0 AND class.size = 1 THEN 1 ELSE 0 END
        ), 0) AS BIGINT) AS singles
    FROM (SELECT $named, $side AS side, count(*) AS size FROM $rows AS row WHERE $known GROUP BY row.$group, $side) AS class
    GROUP BY class.$names
) AS grouped
GROUP BY grouped.sizes, grouped.singles
