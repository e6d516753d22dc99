-- Of one column, over the rows that have it: how many rows, and how many values.
-- The owner's discovery of rules reads it.
SELECT CAST(coalesce(sum(counted.size), 0) AS BIGINT) AS total, count(*) AS number
FROM (
    SELECT known.one, count(*) AS size
    FROM (SELECT row.$column AS one FROM $rows AS row) AS known
    WHERE known.one IS NOT NULL
    GROUP BY known.one
) AS counted
