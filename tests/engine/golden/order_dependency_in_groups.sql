-- title: order dependency among equal rows
-- constraint: not(t1.g=t2.g&t1.a<t2.a&t1.b>t2.b)
-- schema: g VARCHAR; a BIGINT; b DATE

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
    ON "a"."g" = "b"."g" AND "a"."a" < "b"."a" AND "a"."b" > "b"."b"
) AS edge
ORDER BY
  u,
  dc,
  v;
