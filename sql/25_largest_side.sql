-- The same where rows of two sides may not meet (side 0: both of them) unless they are of one class.
-- All but one class stay, or all but the rows of one side.
SELECT
    sized.$equal,
    CAST(sum(sized.size) AS BIGINT)
        - greatest(max(sized.size), CAST(sum(sized.first) AS BIGINT), CAST(sum(sized.second) AS BIGINT)) AS goes
FROM (
    SELECT chosen.$equal, chosen.$classes, count(*) AS size,
        sum(CASE WHEN chosen.side = 1 THEN 1 ELSE 0 END) AS first,
        sum(CASE WHEN chosen.side = 2 THEN 1 ELSE 0 END) AS second
    FROM $chosen AS chosen
    GROUP BY chosen.$equal, chosen.$classes
) AS sized
GROUP BY sized.$equal
HAVING count(*) > 0
