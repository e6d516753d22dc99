-- title: one comparison, no equality
-- constraint: not(t1.a>=t2.a)
-- schema: a DECIMAL(6,2)

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
    ON "a"."a" >= "b"."a"
    AND "a"."id" <> "b"."id"
    AND (
      "a"."id" < "b"."id" OR NOT (
        "b"."a" >= "a"."a"
      ) IS TRUE
    )
) AS edge
ORDER BY
  u,
  dc,
  v;
