-- title: single-tuple constraints
-- constraint: not(t1.a<0)
-- constraint: not(t1.a>t1.b)
-- schema: a BIGINT; b DECIMAL(6,2)

SELECT
  id
FROM tuple_row AS row
WHERE
  "row"."a" < CAST('0' AS BIGINT)
  OR TRY_CAST("row"."a" AS DECIMAL(21, 2)) > TRY_CAST("row"."b" AS DECIMAL(21, 2))
ORDER BY
  id NULLS FIRST;
