-- title: only an inequality
-- constraint: not(t1.a!=t2.a)
-- schema: a BOOLEAN

SELECT
  u,
  v,
  dc
FROM (
  SELECT
    "a"."id" AS u,
    "b"."id" AS v,
    0 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON "a"."a" <> "b"."a" AND "a"."id" < "b"."id"
) AS edge
ORDER BY
  u,
  dc,
  v;
