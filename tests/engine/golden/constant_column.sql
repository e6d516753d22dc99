-- title: a column that must be constant
-- constraint: [] -> city
-- schema: city VARCHAR

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
    ON "a"."city" <> "b"."city" AND "a"."id" < "b"."id"
) AS edge
ORDER BY
  u,
  dc,
  v;
