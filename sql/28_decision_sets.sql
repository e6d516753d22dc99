-- Decision bits of a dependency or key: how many groups have so many maximal consistent subsets, if more than one.
-- Each class of a group is one such set, and each row of a key. Logarithms are summed outside, as integers.
SELECT CAST(counted.sets AS BIGINT) AS sets, CAST(count(*) AS BIGINT) AS groups
FROM (
    SELECT class.$equal, count(*) AS sets
    FROM $classes AS class
    GROUP BY class.$equal
    HAVING count(*) > 0
) AS counted
WHERE counted.sets > 1
GROUP BY CAST(counted.sets AS BIGINT)
