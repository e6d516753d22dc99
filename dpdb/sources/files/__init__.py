"""Kinds of files and of tables of many files, one module each, read only when a path names one."""
