-- The conflicts of one rule: the self-join of its rows. A pair counts at the first rule that it violates, and once.
-- u and v are canonical ranks, u below v; dc is the place of the rule.
SELECT $u AS u, $v AS v, $dc AS dc FROM $rows AS a JOIN $rows AS b ON $violated
