-- title: constants in their columns' types
-- constraint: not(t1.g=t2.g&t1.a>1.5&t2.x<=0.1&t1.day>='2020-01-01')
-- schema: g BOOLEAN; a SMALLINT; x FLOAT; day DATE

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
      "a"."g" = "b"."g"
      AND TRY_CAST("a"."a" AS DECIMAL(6, 1)) > CAST('1.5' AS DECIMAL(6, 1))
      AND "b"."x" <= CAST('0.1' AS REAL)
      AND "a"."day" >= CAST('2020-01-01' AS DATE)
    )
    AND "a"."id" <> "b"."id"
    AND (
      "a"."id" < "b"."id"
      OR NOT (
        "b"."g" = "a"."g"
        AND TRY_CAST("b"."a" AS DECIMAL(6, 1)) > CAST('1.5' AS DECIMAL(6, 1))
        AND "a"."x" <= CAST('0.1' AS REAL)
        AND "b"."day" >= CAST('2020-01-01' AS DATE)
      ) IS TRUE
    )
) AS edge
ORDER BY
  u,
  dc,
  v;
