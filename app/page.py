"""The page: one Gradio app whose address says what it shows."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ale_semantic.errors import AleSemanticError

from . import endpoints
from .context import Site
from .desk import Desk, ask_in_threads
from .exporting import Download, download
from .router import screen
from .search_tab import fault_view
from .state import State
from .tabs import TABS
from .view import render

if TYPE_CHECKING:
    from gradio.blocks import Blocks

    from ale_semantic.engine import Engine

TITLE = "ALE Semantic"
_SCRIPTS = ("dom", "basket", "navigate", "facets", "map", "main")  # in this order; each uses what stands before it


def build_page(engine: Engine) -> Blocks:
    """Return the page over an engine, ready to be launched."""
    desk = Desk(ask_in_threads(engine), engine)
    desk.warm_up()
    return page_of(desk)


def page_of(desk: Desk) -> Blocks:
    """Return the page whose questions a desk answers."""
    from gradio.blocks import Blocks
    from gradio.components import HTML

    async def ale_screen(address: Any) -> dict[str, Any]:
        query = address if isinstance(address, str) else ""  # scripts other than the page's may send anything
        try:
            return await desk.answer(lambda site: {**asdict(screen(site, query)), **_origin(site)})
        except AleSemanticError as fault:  # nobody was free to answer
            return {**asdict(fault_view(State.from_query(query), fault)), **_origin(desk.site)}

    async def ale_export(request: Any) -> dict[str, str]:
        parts = request if isinstance(request, dict) else {}
        address, form, scope = (str(parts.get(name, "")) for name in ("address", "form", "scope"))
        try:
            file = await desk.answer(lambda site: download(site, address, form, scope))
        except AleSemanticError as fault:
            file = Download("", "", "", str(fault))
        return asdict(file)

    page = Blocks(title=TITLE, analytics_enabled=False, fill_width=True)
    with page:
        HTML(
            html_template=render("shell.html", tabs=TABS, provenance=desk.site.engine.provenance),
            js_on_load=script(),
            server_functions=[ale_screen, ale_export],
            elem_id="ale",
            apply_default_css=False,
        )
        endpoints.add(desk)
    return page


def _origin(site: Site) -> dict[str, Any]:
    """Return what the page says of its origin, which changes when a newer index is opened under it."""
    made_by = site.engine.provenance
    return {"foot": render("foot.html", provenance=made_by), "demo": made_by.demo}


@cache
def script() -> str:
    """Return the page's script."""
    return "\n".join(_asset(f"js/{name}.js") for name in _SCRIPTS)


@cache
def head() -> str:
    """Return what the page adds to the document's head: its look."""
    look = "\n".join(_asset(f"css/{name}.css") for name in ("base", "results", "task", "tabs", "curriculum"))
    return f"<style>{look}</style>"


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def launch_options() -> dict[str, Any]:
    """Return the options of `Blocks.launch` that make the page look and behave as its own, wherever it is served."""
    import gradio

    from .guard import middleware

    theme = gradio.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
    return {
        "theme": theme,
        "head": head(),
        "footer_links": [],
        "ssr_mode": False,  # would need Node, and fetch nothing faster
        "state_session_capacity": 200,  # the state stands in the address: what Gradio keeps of a visit is no loss
        "mcp_server": False,  # the service has its own
        "max_file_size": "1kb",  # nothing is uploaded
        "app_kwargs": {"middleware": middleware()},
        "quiet": True,
    }
