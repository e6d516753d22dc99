"""Kinds of objects of this process, and addresses of drivers, one module each."""
