"""The rows in conflict, or some of them that tell as much: what has to come here for a conflict graph."""
