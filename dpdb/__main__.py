"""`python -m dpdb`, and the script `dpdb`."""

from dpdb.cli.main import run_process

if __name__ == "__main__":
    run_process()
