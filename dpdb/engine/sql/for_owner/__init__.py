"""What only the owner sees: single conflicts, likely repairs, the look of cells. Nothing here is released."""
