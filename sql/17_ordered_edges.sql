-- The conflicts of all rules, sorted into the canonical edge order.
-- Projections keep edges greedily in this order; the proofs of their sensitivity rest on it.
INSERT INTO $edges SELECT found.u, found.v, found.dc FROM $found AS found ORDER BY found.u, found.dc, found.v
