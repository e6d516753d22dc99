"""What only the owner of a table may see or make: exact values, expected errors, proposed types, dirty copies."""
