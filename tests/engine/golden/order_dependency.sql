-- title: order dependency
-- constraint: not(t1.a<t2.a&t1.b>t2.b)
-- schema: a BIGINT; b DOUBLE

SELECT
  u,
  v,
  dc
FROM (
  SELECT
    LEAST("a"."id", "b"."id") AS u,
    GREATEST("a"."id", "b"."id") AS v,
    0 AS dc
  FROM tuple_row AS a
  JOIN tuple_row AS b
    ON "a"."a" < "b"."a" AND "a"."b" > "b"."b"
) AS edge
ORDER BY
  u,
  dc,
  v;
