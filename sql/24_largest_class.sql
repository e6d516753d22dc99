-- The fewest rows to delete until the rows of each group are of one class: all but those of its largest class.
-- One more row changes one group, and its number by 0 or 1.
SELECT sized.$equal, CAST(sum(sized.size) AS BIGINT) - max(sized.size) AS goes
FROM (
    SELECT chosen.$equal, chosen.$classes, count(*) AS size
    FROM $chosen AS chosen
    GROUP BY chosen.$equal, chosen.$classes
) AS sized
GROUP BY sized.$equal
HAVING count(*) > 0
