"""The page inside another server: an ASGI application with a lifespan of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .desk import Ask, Desk
from .quick_import import import_gradio, spare_apps_left_out

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ale_semantic.engine import Engine


def mounted_page(ask: Ask, engine: Engine) -> Starlette:
    """Return the page as an application to mount at `/`; the server it is mounted in runs its lifespan.

    Args:
        ask: how its work is done.
        engine: the engine that is open now.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # Gradio would make event loops of its own here, one after the other, and leave them open
        return asyncio.run(_mounted(ask, engine))
    return _mount(ask, engine)


async def _mounted(ask: Ask, engine: Engine) -> Starlette:
    return _mount(ask, engine)


def _mount(ask: Ask, engine: Engine) -> Starlette:
    import_gradio()
    import gradio
    from starlette.applications import Starlette

    from .page import launch_options, page_of

    options = launch_options()
    del options["quiet"]  # of a server of its own
    desk = Desk(ask, engine)
    with spare_apps_left_out():
        page = page_of(desk)
    page.state_session_capacity = options.pop("state_session_capacity")  # which `launch` would set
    app = Starlette()
    gradio.mount_gradio_app(app, page, path="/", **options)
    desk.warm_up()  # not sooner: the page would wait for it
    return app
