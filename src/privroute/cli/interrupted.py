"""What `privroute learn` leaves behind when it is interrupted, in one line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import privroute as pr
from privroute.cli.terminal import number_of, warn

__all__ = ["Learning", "interruption_told"]


@dataclass
class Learning:
    """How far the command is.

    out : where the release goes; found : the manifest that was there before
    account, stream, release : None as long as there is none
    days : those of the stream before
    """

    out: Path | None
    found: str | None
    account: pr.Ledger | None = None
    stream: pr.Stream | None = None
    release: pr.Release | None = None
    days: frozenset[object] = field(default_factory=frozenset)

    def follow(self, stream: pr.Stream) -> None:
        """Remember the days that are in a stream already."""
        self.stream, self.days = stream, frozenset(stream.dates)

    @property
    def words(self) -> str:
        """What was charged and written until now; read from where it is kept, not from where the command was."""
        granted = [] if self.account is None else self.account.granted
        start = "Interrupted before anything was charged"
        if granted and self.account is not None:
            days = f" of {number_of(len(granted), 'day')}" if self.stream is not None else ""
            each = " each" if len(granted) > 1 else ""
            spent = f"epsilon {granted[0].epsilon:g}{each} is spent in {self.account.store}"
            start = f"Interrupted after the charge{days}: {spent}"
        elif self.release is not None:  # made without a ledger
            start = "Interrupted"
        added = [] if self.stream is None else [day for day in self.stream.dates if day not in self.days]
        more = f", {number_of(len(added), 'day')} added to the stream" if added else ""
        written = f"the release was written: {self.out}" if self._is_written else "no release was written"
        return f"{start}{more}, {written}."

    @property
    def _is_written(self) -> bool:
        """Whether the release, and not one that was there before, is in its place."""
        text = None if self.out is None else manifest(self.out)
        if self.release is None or text is None or text == self.found:
            return False
        own = json.loads(json.dumps(self.release.certificate.as_dict()))
        return bool(json.loads(text).get("certificate") == own)


def manifest(folder: Path) -> str | None:
    """The manifest of a release folder, which is replaced as a whole; None where there is none."""
    from privroute.release.folder import MANIFEST  # noqa: PLC0415 - readers and writers

    try:
        return (folder / MANIFEST).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


@contextmanager
def interruption_told(out: Path | None) -> Iterator[Learning]:
    """Say in one line what was charged and written, if Ctrl-C or another request to end comes meanwhile."""
    learning = Learning(out, None if out is None else manifest(out))
    try:
        yield learning
    except KeyboardInterrupt:
        from privroute.privacy.uninterrupted import uninterrupted  # noqa: PLC0415 - the private side

        with uninterrupted():
            warn(learning.words)
        raise
