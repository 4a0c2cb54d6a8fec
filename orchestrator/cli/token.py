"""`orchestrator token`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.acting import actor
from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import note, print_json, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.spans import SPAN
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, local, parsed
from orchestrator.domain.roles import Role
from orchestrator.services.tokens import create_token, revoke_token, set_password
from orchestrator.store.reads import list_tokens

_COLUMNS = (
    name_column("TOKEN"),
    Column("ROLE"),
    Column("APP", gives_way=3),
    Column("STATUS"),
    Column("EXPIRES", gives_way=2),
    Column("LAST USED", gives_way=1),
)


@click.group()
def token() -> None:
    """Create, list and revoke tokens of the API and the admin pages.

    Each role may do what those before it may: viewer reads, operator starts and steers runs, author registers
    workflows, admin makes tokens and apps.
    """


@token.command()
@click.argument("name", metavar="NAME")
@click.option("--role", type=click.Choice([role.value for role in Role]), required=True, help="What it may do.")
@click.option("--app", metavar="NAME", help="Only this app (default: every app).")
@click.option("--expires-in", type=SPAN, metavar="TIME", help="Until when it may: 12h, 90d (default: for ever).")
@click.option("--password", "with_password", is_flag=True, help="Ask for a password to log in with, by NAME.")
@common
def create(name: str, role: str, app: str | None, expires_in: float | None, with_password: bool, as_json: bool) -> None:
    """Create a token. It is shown now, and never again."""
    password = _asked() if with_password else None
    with open_database() as db:
        made = create_token(db, name, Role(role), app=app, expires_in=expires_in, password=password, actor=actor())
    if as_json:
        print_json({"id": made.id, "name": made.name, "role": role, "app": app, "token": made.token})
        return
    click.echo(made.token)
    note("keep it: it is stored nowhere and cannot be shown again")


@token.command("list")
@click.option("--revoked", is_flag=True, help="Also those that were revoked.")
@paged
@common
def list_(revoked: bool, limit: int, after: str | None, as_json: bool) -> None:
    """List tokens by name, not the tokens themselves."""
    with open_database() as db, db.transaction() as conn:
        page = list_tokens(conn, after, limit, revoked=revoked)
    remark = None if page.items else "there is no token: orchestrator token create NAME --role ROLE"
    show_page(
        page, as_json, lambda screen: table(_COLUMNS, [_row(item) for item in page.items], width_of(screen)), remark
    )


@token.command()
@click.argument("name", metavar="NAME")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def revoke(name: str, reason: str | None, as_json: bool) -> None:
    """Revoke a token.

    It opens nothing any more, and sessions begun with it end.
    """
    with open_database() as db:
        id = revoke_token(db, name, reason=reason, actor=actor())
    if as_json:
        print_json({"id": id, "name": name})
    else:
        click.echo(f"token '{clean(name)}' is revoked")


@token.command()
@click.argument("name", metavar="NAME")
@click.option("--remove", is_flag=True, help="Take the password away; the token still works.")
@common
def password(name: str, remove: bool, as_json: bool) -> None:
    """Set the password its holder logs in with, or remove it."""
    given = None if remove else _asked()
    with open_database() as db:
        id = set_password(db, name, given, actor=actor())
    if as_json:
        print_json({"id": id, "name": name, "password": not remove})
    else:
        click.echo(f"the password of '{clean(name)}' is {'removed' if remove else 'set'}")


def _asked() -> str:
    """A password: asked for twice in a terminal, else the first line of stdin."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    expires, used = parsed(item["expires_at"]), parsed(item["last_used_at"])
    return (
        Text(clean(item["name"])),
        Text(item["role"]),
        Text(clean(item["app"] or "")),
        Text(item["status"]),
        Text(local(expires) if expires else "", "dim"),
        Text(local(used) if used else "", "dim"),
    )
