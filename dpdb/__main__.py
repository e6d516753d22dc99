"""`python -m dpdb`."""

from dpdb.cli import main

raise SystemExit(main())
