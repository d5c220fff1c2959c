"""The command `poolwise`: one file per command, loaded when it is called.

Exit codes: 0 fine, 1 our bug, 2 usage, 3 bad data, 130 interrupted, 143 ended by SIGTERM.
Results go to stdout, everything else to stderr.
"""

import io
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import click

from poolwise import __version__
from poolwise.cli.ending import interrupted_by_signals
from poolwise.cli.output import clean_warnings, say
from poolwise.support.progress import silence
from poolwise.support.text import plain

_INTERRUPTED = 130
_COMMANDS = {
    "demo": "Learn features on the embedded photos and show the result.",
    "tune": "Search for the settings that suit labelled images best.",
    "plan": "Predict accuracy and cost of larger dictionaries from small ones.",
    "fit": "Learn features from images, and a classifier if they have labels.",
    "transform": "Compute the features of images with a model.",
    "predict": "Predict the label of each image, with its margin for every class.",
    "evaluate": "Compare a model's labels with those of images.",
    "export": "Write a model as a file that runs without poolwise: ONNX, or a page.",
    "report": "Write a page that shows what a model has learned.",
    "card": "Write a README for sharing a model.",
    "inspect": "Show what a model is: parameters, sizes, cost, where it came from.",
    "datasets": "List the data sets that have a name, and where they are; fetch them.",
    "reproduce": "Repeat the paper's experiments on the real data.",
}


class _Lazy(click.Group):
    """Has the commands' names and first lines, and imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"poolwise.cli.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="poolwise")
def command() -> None:
    """Compact image features, learned without labels on an ordinary CPU.

    \b
    Start with:  poolwise demo
    Your images: poolwise fit photos/train -o photos.safetensors
                 poolwise evaluate photos.safetensors photos/test
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code; a user's mistake never shows a traceback."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    with interrupted_by_signals() as received:
        code = _run(given)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):  # full, or gone: that has been said
        silence(sys.stdout)
    return 128 + received[0] if received and code == _INTERRUPTED else code


def _run(given: list[str]) -> int:
    try:
        with clean_warnings(lambda message: _message(message, given), quiet="--quiet" in given):
            result = command.main(given, prog_name="poolwise", standalone_mode=False, obj=shlex.join(["poolwise", *given]))
        if sys.stdout is not None:  # closed by the caller, as in `poolwise demo >&-`
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        text = io.StringIO()
        error.show(text)
        with suppress(OSError):  # nobody reads it
            click.echo(plain(text.getvalue(), keep="\n"), err=True, nl=False)
        return 2
    except (KeyboardInterrupt, click.Abort):
        say("interrupted")
        return _INTERRUPTED
    except (BrokenPipeError, SystemExit):  # the reader has left, as in `poolwise demo | head -1`; click turns it into an exit
        silence(sys.stdout)
        return 0
    except MemoryError as error:
        if error.args:  # how much was needed, and for what
            say(str(error))
        say("there is not enough memory; give fewer --patches, --candidates or --jobs, or a smaller --resize")
        return 3
    except (ValueError, OSError) as error:
        say(_message(error, given))
        return 3


def _message(error: Exception | str, given: Sequence[str]) -> str:
    """What an error or a warning says, with the parameters of the library as options of the command that was called."""
    from poolwise.cli.spelling import in_options

    called = next((command.get_command(click.Context(command), word) for word in given if word in _COMMANDS), None)
    return in_options(error, called or command)
