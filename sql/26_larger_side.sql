-- The same without classes: each row is a class of its own, so the rows of one side stay, or one row that is on both.
-- A group without rows has nothing to delete.
SELECT sized.size - greatest(sized.first, sized.second, CASE WHEN sized.both > 0 THEN 1 ELSE 0 END) AS goes
FROM (
    SELECT chosen.$equal, count(*) AS size,
        sum(CASE WHEN chosen.side = 0 THEN 1 ELSE 0 END) AS both,
        sum(CASE WHEN chosen.side = 1 THEN 1 ELSE 0 END) AS first,
        sum(CASE WHEN chosen.side = 2 THEN 1 ELSE 0 END) AS second
    FROM $chosen AS chosen
    GROUP BY chosen.$equal
    HAVING count(*) > 0
) AS sized
