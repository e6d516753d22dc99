-- The rows that become nodes: those of the slice that violate no rule by themselves.
-- A slice is an induced subgraph, so both rows of a conflict lie in it.
SELECT $columns FROM $rows AS row WHERE $chosen
