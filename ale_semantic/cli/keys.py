"""Commands for the service's API keys: keys add, keys list, keys revoke."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ale_semantic.cli.options import JsonOption, show, show_json, warn

if TYPE_CHECKING:
    from ale_semantic.service.keys import KeyFile

app = typer.Typer(name="keys", help="Make, list and revoke the API keys of the service.", no_args_is_help=True)

KeysFileOption = Annotated[
    Path | None,
    typer.Option("--keys-file", envvar="ALE_SERVICE_KEYS_FILE", help="File of the hashed keys."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", envvar="ALE_SERVICE_CONFIG", help="TOML file with the service's settings."),
]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is, or what for.")],
    days: Annotated[float | None, typer.Option(help="Days that it is valid; without: until it is revoked.")] = None,
    keys_file: KeysFileOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a key and print it, once: only its hash is kept.

    Example:

        ale-semantic keys add notebook --days 90
    """
    file = _file(keys_file, config)
    key, stored = file.add(name, days=days)
    until = f", valid until {stored.expires}" if stored.expires else ""
    warn(f"Key {stored.id} ({stored.name}){until}, kept as a hash in {file.path}. It is shown only now:")
    print(key)


@app.command("list")
def list_keys(json_: JsonOption = False, keys_file: KeysFileOption = None, config: ConfigOption = None) -> None:
    """List all keys by id and name, also revoked ones; the keys themselves are not kept.

    Example:

        ale-semantic keys list
    """
    file = _file(keys_file, config)
    keys = file.read()
    if json_:
        fields = ("id", "name", "created", "expires", "revoked")
        show_json([{**{field: getattr(key, field) for field in fields}, "state": key.state()} for key in keys])
        return
    if not keys:
        warn(f"There is no key in {file.path}; make one: ale-semantic keys add NAME")
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "name", "state", "created (UTC)", "expires (UTC)")
    for key in keys:
        expires = _minute(key.expires) if key.expires else "never"
        table.add_row(*(Text(cell) for cell in (key.id, key.name, key.state(), _minute(key.created), expires)))
    show(table)


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(help="Its id, or the name of a valid key.")],
    keys_file: KeysFileOption = None,
    config: ConfigOption = None,
) -> None:
    """Refuse a key from now on; a running service follows at once.

    Example:

        ale-semantic keys revoke notebook
    """
    gone = _file(keys_file, config).revoke(key)
    warn(f"Key {gone.id} ({gone.name}) is revoked.")


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _file(keys_file: Path | None, config: Path | None) -> KeyFile:
    """Return the file of keys that the option, or else the service's settings, name."""
    from ale_semantic.service.config import ServiceConfig
    from ale_semantic.service.keys import KeyFile

    return KeyFile(keys_file or ServiceConfig.load(config).keys_file)
