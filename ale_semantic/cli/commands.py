"""The whole Typer application, for tools that look for one: docs/cli.md is made of it."""

from __future__ import annotations

from ale_semantic.cli.loading import whole_application

app = whole_application()
