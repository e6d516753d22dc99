"""Reports: one HTML page about a results table. Reads releases and public figures only, never a private source."""

from dpdb.doors.reports.page import report_page

__all__ = ["report_page"]
