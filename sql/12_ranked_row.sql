-- The rows in canonical order: ranks, codes, and the values that rules compare with other columns or constants.
-- Ranks and codes are lent with the number of each row.
SELECT $columns FROM $coded AS coded_row JOIN $rows AS row ON row.$number = coded_row.$place
