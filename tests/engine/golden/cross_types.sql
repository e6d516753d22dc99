-- title: cross columns of a date and a timestamp
-- constraint: not(t1.day<t2.seen&t1.g=t2.g)
-- schema: g BOOLEAN; day DATE; seen TIMESTAMP

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
    ON (
      TRY_CAST("a"."day" AS TIMESTAMP) < "b"."seen" AND "a"."g" = "b"."g"
    )
    AND "a"."id" <> "b"."id"
    AND (
      "a"."id" < "b"."id"
      OR NOT (
        TRY_CAST("b"."day" AS TIMESTAMP) < "a"."seen" AND "b"."g" = "a"."g"
      ) IS TRUE
    )
) AS edge
ORDER BY
  u,
  dc,
  v;
