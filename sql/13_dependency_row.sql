-- A dependency X -> Y: the rows of groups with more than one class, and whether each is outside its group's largest one.
-- Of two rows in conflict one is outside it, so these rows alone are joined with their whole group.
SELECT t.*, t.$value <> g.$largest AS $minor
FROM $rows AS t
JOIN (
    SELECT class.$keys, arg_max(class.$value, class.$size) AS $largest
    FROM (
        SELECT row.$keys, row.$value, count(*) AS $size
        FROM $rows AS row
        WHERE $known
        GROUP BY row.$keys, row.$value
    ) AS class
    GROUP BY class.$keys
    HAVING count(*) > 1
) AS g ON $same
WHERE t.$value IS NOT NULL
