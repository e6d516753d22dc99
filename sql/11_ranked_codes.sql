-- The rows in canonical order, where rules read codes alone: ranks, and codes.
-- The driver lends both, so the rows themselves are not read again.
SELECT coded_row.$columns FROM $coded AS coded_row
