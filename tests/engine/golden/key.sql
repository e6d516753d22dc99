-- title: key
-- constraint: UNIQUE(zip, age)
-- schema: zip VARCHAR; age SMALLINT

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
      "a"."zip" = "b"."zip" AND "a"."age" = "b"."age"
    ) AND "a"."id" < "b"."id"
) AS edge
ORDER BY
  u,
  dc,
  v;
