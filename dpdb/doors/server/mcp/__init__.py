"""MCP: the desk as tools of a language model, over HTTP (`/mcp`) or standard input and output (`dpdb mcp`)."""
