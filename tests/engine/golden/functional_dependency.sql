-- title: functional dependency
-- constraint: zip -> city
-- schema: zip VARCHAR; city VARCHAR

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
    ON (
      "a"."zip" = "b"."zip" AND "a"."city" <> "b"."city"
    ) AND "a"."id" < "b"."id"
) AS edge
ORDER BY
  u,
  dc,
  v;
