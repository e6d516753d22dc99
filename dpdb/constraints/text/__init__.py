"""From text to constraints: tokens, columns and tuples by name, conditions, every notation."""
