-- Of two columns, over the rows that have both: how many rows; of each its values, the rows that stay if each of its
-- values had the other column's most frequent one, and its largest group. One scan, grouped by both, then by each.
SELECT
    CAST(coalesce(sum(CASE WHEN sides.forth THEN sides.total ELSE 0 END), 0) AS BIGINT) AS rows,
    count(CASE WHEN sides.forth THEN 1 ELSE NULL END) AS groups_forth,
    CAST(coalesce(sum(CASE WHEN sides.forth THEN sides.most ELSE 0 END), 0) AS BIGINT) AS kept_forth,
    max(CASE WHEN NOT sides.forth THEN sides.total ELSE 0 END) AS largest_forth,
    count(CASE WHEN NOT sides.forth THEN 1 ELSE NULL END) AS groups_back,
    CAST(coalesce(sum(CASE WHEN NOT sides.forth THEN sides.most ELSE 0 END), 0) AS BIGINT) AS kept_back,
    max(CASE WHEN sides.forth THEN sides.total ELSE 0 END) AS largest_back
FROM (
    SELECT sized.other IS NULL AS forth, max(sized.size) AS most, CAST(coalesce(sum(sized.size), 0) AS BIGINT) AS total
    FROM (
        SELECT known.one, known.other, count(*) AS size
        FROM (SELECT row.$first AS one, row.$second AS other FROM $rows AS row) AS known
        WHERE known.one IS NOT NULL AND known.other IS NOT NULL
        GROUP BY known.one, known.other
    ) AS sized
    GROUP BY GROUPING SETS ((sized.one), (sized.other))
) AS sides
