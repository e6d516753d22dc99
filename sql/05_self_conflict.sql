-- The rows that violate a rule on one row, each with the first such rule.
-- They leave the graph: their neighbours do not become problematic through them.
SELECT $first AS dc, $position AS source_row FROM $rows AS row WHERE $chosen
