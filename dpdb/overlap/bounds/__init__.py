"""Upper and lower bounds of an overlap problem: dual, colouring, ascent; and the tables that they sum over."""
