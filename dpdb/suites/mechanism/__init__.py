"""The mechanism of checks: banks, levels, margins, state. It sees integers, never tables, files or ledgers."""
