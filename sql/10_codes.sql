-- The code of each row's value, from the dictionary of its column.
-- Rows come with their numbers, so that neither threads nor joins have to keep an order.
SELECT row.$number, code.rowid FROM $rows AS row JOIN $dictionary AS code ON row.$column = code.value
