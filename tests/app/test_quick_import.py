"""Gradio is imported without what the page doesn't use, and nobody else in the program notices."""

from __future__ import annotations

import json
import subprocess
import sys

SHOW = "\nimport json, sys; print(json.dumps(found))"
QUICKLY = "import sys\nfrom ale_semantic.app.quick_import import import_gradio, spare_apps_left_out\n"


def run(code: str) -> object:
    """Run a script in a process of its own, and return what it found."""
    done = subprocess.run([sys.executable, "-c", code + SHOW], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_what_the_page_does_not_use_is_left_out_until_it_is_used() -> None:
    code = """
from urllib.request import urlopen
import ast
read, made = [], []
source_of = ast.get_source_segment  # Gradio reads the source of each component to write its stub
ast.get_source_segment = lambda *a, **k: read.append(1) or source_of(*a, **k)
finders = list(sys.meta_path)
import_gradio()
found = [sorted({"pandas", "mcp"} & set(sys.modules)), read, sys.meta_path == finders]
import gradio
from gradio.routes import App
create_app = App.create_app
App.create_app = staticmethod(lambda *a, **k: made.append(1) or create_app(*a, **k))
with spare_apps_left_out(), gradio.Blocks() as page:
    gradio.Textbox()
_, address, _ = page.launch(prevent_thread_lock=True, quiet=True, mcp_server=False)
found += [len(made), urlopen(address).status]
page.close(verbose=False)
import mcp, pandas
table = gradio.Dataframe().postprocess(pandas.DataFrame({"a": [1]}))
found += [table.headers, pandas.__name__, type(pandas).__name__, mcp.__name__]
"""
    assert run(QUICKLY + code) == [[], [], True, 1, 200, ["a"], "pandas", "module", "mcp"]


def test_what_is_there_stays_as_it_is() -> None:
    code = """
import pandas, mcp
import_gradio()
import gradio.mcp
found = [sys.modules["pandas"] is pandas, sys.modules["mcp"] is mcp, hasattr(gradio.mcp.GradioMCPServer, "types")]
"""
    assert run(QUICKLY + code) == [True, True, True]
