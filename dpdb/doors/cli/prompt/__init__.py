"""The prompt of `dpdb sql`: its lines, its commands, its loop."""
