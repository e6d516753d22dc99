-- The same where rows of a class must agree in one more column, unless they lack its value: a dependency with NULLs.
-- Of a class its most frequent value stays, and all rows without one.
SELECT best.$equal, CAST(sum(best.size) AS BIGINT) - max(best.stay) AS goes
FROM (
    SELECT sized.$equal, sized.$classes, CAST(sum(sized.size) AS BIGINT) AS size,
        max(CASE WHEN sized.$loose IS NOT NULL THEN sized.size ELSE 0 END)
            + sum(CASE WHEN sized.$loose IS NULL THEN sized.size ELSE 0 END) AS stay
    FROM (
        SELECT chosen.$equal, chosen.$classes, chosen.$loose, count(*) AS size
        FROM $chosen AS chosen
        GROUP BY chosen.$equal, chosen.$classes, chosen.$loose
    ) AS sized
    GROUP BY sized.$equal, sized.$classes
) AS best
GROUP BY best.$equal
HAVING count(*) > 0
