"""The progress bar of notebooks. Releases, plans and results show themselves there (`_repr_html_`)."""

from dpdb.doors.notebook.bar import bar_words, progress_bar

__all__ = ["bar_words", "progress_bar"]
