-- Each row's hash, by which rows are ordered first: the canonical order.
-- It reads values of that row alone, so that a row that comes or goes swaps no two others.
SELECT row.$number, hash(row.$columns) FROM $rows AS row
