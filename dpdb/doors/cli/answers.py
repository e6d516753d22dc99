"""`AnswerOutput`: where a command shows releases, and appends their receipts.

It is opened before anything is spent, and no paid answer is lost.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.doors.cli.streams import describe_failure, output_is_closed, say, tell, write_output
from dpdb.errors import DpdbError, EngineError, ParameterError
from dpdb.files.new_file import NewFile
from dpdb.stopping import Closing

if TYPE_CHECKING:
    from dpdb.doors.cli.lineage import LineageFile
    from dpdb.receipts import ReceiptFile
    from dpdb.release import Release
    from dpdb.suites import CheckResults


class UnshownError(DpdbError):
    """Releases were made and could not be shown; the message tells where they are kept."""

    exit_code = EngineError.exit_code


class AnswerOutput(Closing):
    """Standard output, or a new file. Use it as a context manager around the calls that spend.

    Parameters
    ----------
    out
        The file to make; None for standard output.
    ledger
        The ledger that keeps the answers, if there is one.
    needed
        Whether to refuse a closed standard output; False for a job, whose results are kept elsewhere.
    warn
        Whether to warn, once there are answers, that no ledger counts them.
    receipt
        File and key of receipts, as the options give them; None for none.
    lineage
        The file for verdicts as an OpenLineage event.
    beside
        Further ledgers that pay for the same answers, of which there are receipts, too.

    Raises
    ------
    ParameterError
        If the output cannot be written to; nothing is spent yet.
    LedgerError
        If receipts are wanted and the ledger has not what was signed before; nothing is spent yet.
    """

    def __init__(
        self,
        out: str | None = None,
        ledger: str | Path | None = None,
        *,
        needed: bool = True,
        warn: bool = True,
        receipt: tuple[str | None, str | None] = (None, None),
        lineage: LineageFile | None = None,
        beside: Sequence[str | Path | None] = (),
    ) -> None:
        self._lineage = lineage
        self._file = None if out is None else NewFile(Path(out))
        self._ledger = ledger
        self._warn = warn and ledger is None
        if out is None and needed and output_is_closed():
            raise ParameterError("nobody reads standard output; nothing was spent: give --out FILE, or > /dev/null")
        self._receipt = receipt[0]
        self._receipts: list[ReceiptFile] = []
        with ExitStack() as on_error:
            on_error.callback(self.close)
            for paying in () if receipt == (None, None) else (ledger, *beside):
                self._receipts.append(_receipt_file(*receipt, paying))
            on_error.pop_all()

    @classmethod
    def of(cls, options: argparse.Namespace) -> AnswerOutput:
        """Open the output that the options of a command name; a dry run neither warns nor makes receipts."""
        is_dry = getattr(options, "dry_run", False)
        receipt = (None, None) if is_dry else (options.receipt, options.receipt_key)
        warn = not (options.quiet or is_dry)
        return cls(options.out, options.ledger, warn=warn, receipt=receipt, lineage=_lineage(options, is_dry))

    def show(
        self,
        content: str | bytes,
        releases: Sequence[Release],
        words: str = "",
        *,
        run_id: str | None = None,
        checks: Sequence[CheckResults] = (),
    ) -> None:
        """Write the answers at once.

        Parameters
        ----------
        content
            The answers in the command's output format.
        releases
            The releases that the content shows.
        words
            The answers as text for standard error, if writing fails; by default `content`.
        run_id
            Run id of the verdicts, the diagnosis or the discovery that the content shows.
        checks
            The verdicts that the content shows, for receipts; these are written after the answers.

        Raises
        ------
        UnshownError
            If writing fails. Without a ledger the answers then go to standard error, if possible.
        """
        try:
            if self._file is not None:
                self._file.partial.write_bytes(_encoded(content))
                self._file.keep()
            else:
                write_output(content)
        except (OSError, ValueError) as error:  # a `ParameterError` of the file is a ValueError
            raise self._unshown(error, words or content, releases, run_id) from None
        else:
            if self._lineage is not None:
                self._write_lineage(self._lineage, checks, run_id)
        finally:
            if self._warn:
                say("no --ledger: nothing adds up what this command and others spend on this table")
                self._warn = False
            for file in self._receipts:
                self._append(file, releases, checks, None if releases or checks else run_id or None)

    def _unshown(
        self, error: Exception, content: str | bytes, releases: Sequence[Release], run_id: str | None
    ) -> UnshownError:
        if run_id is not None:
            failed = f"the verdicts could not be shown: {describe_failure(error)}"
            if self._ledger is not None:
                return UnshownError(f"{failed}; paid for and kept: --run-id {run_id} shows them again at no cost")
            tell(str(content))
            return UnshownError(f"{failed}; paid for, and kept by no ledger: standard error has them")
        if not releases:
            return UnshownError(f"the result could not be shown: {describe_failure(error)}")
        ids = ", ".join(release.release_id for release in releases)
        failed = f"{'the answers' if len(releases) > 1 else 'the answer'} could not be shown: {describe_failure(error)}"
        if self._ledger is not None:
            command = f"dpdb budget answers {shlex.quote(str(self._ledger))} --release ID"
            return UnshownError(f"{failed}; paid for and kept: `{command}` shows again {ids}")
        if isinstance(content, str):
            tell(content)
        return UnshownError(f"{failed}; paid for, and kept by no ledger: standard error has {ids}")

    def _write_lineage(self, file: LineageFile, checks: Sequence[CheckResults], run_id: str | None) -> None:
        try:
            file.write(checks)
        except ParameterError as error:
            again = "" if self._ledger is None else f"; --run-id {run_id} writes it at no cost"
            raise UnshownError(f"the verdicts are shown, and no OpenLineage event is written: {error}{again}") from None

    def _append(
        self, file: ReceiptFile, releases: Sequence[Release], checks: Sequence[CheckResults], run_id: str | None
    ) -> None:
        """Append the receipts of releases, of verdicts and of a run with another answer, one for each debit."""
        try:
            for release in releases:
                file.of(release_id=release.release_id)
            for one in checks:
                file.of(run_id=one.run_id, suite=one.name)
            if run_id is not None:
                file.of(run_id=run_id)
        except DpdbError as error:
            say(
                f"{self._receipt}: the receipt is not written ({error}); `dpdb receipts issue {self._ledger}` writes it"
            )

    def close(self) -> None:
        """Remove a file that was not finished; close the file of receipts and its ledger. May be called twice."""
        for file in (self._file, self._lineage):
            if file is not None:
                file.close()
        for receipts in self._receipts:
            receipts.close()


def _lineage(options: argparse.Namespace, is_dry: bool) -> LineageFile | None:
    path = getattr(options, "openlineage", None)
    if path is None or is_dry:
        return None
    from dpdb.doors.cli.lineage import LineageFile

    return LineageFile(path, options.source, options.table, options.suite)


def _encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode(errors="backslashreplace")


def _receipt_file(path: str | None, key: str | None, ledger: str | Path | None) -> ReceiptFile:
    if path is None or key is None or ledger is None:
        raise ParameterError(
            "--receipt FILE, --receipt-key KEY and --ledger go together; `dpdb receipts key KEY` makes the key"
        )
    from dpdb.receipts import ReceiptFile, load_key

    return ReceiptFile(path, load_key(key), ledger)
