-- One scan of the edges in the order in which they were written: it streams into projection, witnesses and tau*.
-- Two columns of 32 bits, so that a million edges take milliseconds.
SELECT e.u, e.v FROM $edges AS e
