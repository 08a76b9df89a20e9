"""The command line: parse, call, print. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys

import typer

from sphunc.errors import SphuncError

app = typer.Typer(
    name="sphunc",
    help="Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    """Temporal hypergraphs of agents: what happens next, how sure, who influences whom, what if."""
    if version:
        from sphunc import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.command("demo")
def demo_command() -> None:
    """Show what sphunc does, on an embedded default."""
    from sphunc.cli.demo import run

    run()


def main() -> None:
    """Run the command line; bad input ends with exit code 2 and one clear line."""
    try:
        app()
    except SphuncError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
