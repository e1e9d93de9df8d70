"""A command whose errors name its own options. The words for that are looked up where there is an error."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from privroute.errors import PrivrouteError

if TYPE_CHECKING:
    from privroute.study.settings import Settings

__all__ = ["SETTINGS", "Command"]

SETTINGS: ContextVar["Settings | None"] = ContextVar("SETTINGS", default=None)  # of the command, for errors' spelling


class Command(TyperCommand):
    """A command whose errors name its own options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; several files after one option are a pattern that the shell has expanded."""
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:  # typer does not export the class of usage errors
            patterns = [option.opts[0] for option in self.params if option.metavar == "FILES"]
            message = getattr(problem, "message", "")
            if patterns and "unexpected extra argument" in message:
                ctx.fail(f"{message}; quote patterns, so that the shell does not expand them: {patterns[0]} '*.csv'")
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        SETTINGS.set(None)
        try:
            return super().invoke(ctx)
        except PrivrouteError as problem:
            from privroute.cli.spelling import Spelling  # noqa: PLC0415 - the table of keys

            problem.args = (Spelling(self).of(problem),)
            raise
