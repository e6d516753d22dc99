"""The accounts to which releases are charged: a budget in memory, or a durable ledger."""
