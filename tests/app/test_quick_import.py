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
import_gradio()
finders = list(sys.meta_path)
import_gradio()
found = ["mcp" in sys.modules, read, sys.meta_path == finders]
import gradio
from gradio.routes import App
create_app = App.create_app
App.create_app = staticmethod(lambda *a, **k: made.append(1) or create_app(*a, **k))
with spare_apps_left_out(), gradio.Blocks() as page:
    gradio.Textbox()
_, address, _ = page.launch(prevent_thread_lock=True, quiet=True, mcp_server=False)
found += [len(made), urlopen(address).status]
page.close(verbose=False)
import mcp, gradio.component_meta
found += [mcp.__name__, gradio.component_meta.create_or_modify_pyi.__name__]
"""
    assert run(QUICKLY + code) == [False, [], True, 1, 200, "mcp", "_write_nothing"]


def test_other_libraries_are_whole_for_whoever_imports_them_meanwhile() -> None:
    code = """
import threading
from importlib.abc import MetaPathFinder
found = []
def other():
    while "pandas" not in sys.modules and not done.wait(0.001):
        pass
    import pandas
    from pandas.api.types import is_list_like
    from mcp import types
    found.append(["other thread", is_list_like([]), types.__name__])
class Amid(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "gradio.components.dataframe":
            from pandas.api.types import is_list_like
            found.append(["this thread", is_list_like(1)])
done = threading.Event()
thread = threading.Thread(target=other)
thread.start()
sys.meta_path.insert(0, Amid())
import_gradio()
done.set()
thread.join()
import gradio, pandas
table = gradio.Dataframe().postprocess(pandas.DataFrame({"a": [1]}))
found = [sorted(found), table.headers, type(pandas).__name__]
"""
    whole = [["other thread", True, "mcp.types"], ["this thread", False]]
    assert run(QUICKLY + code) == [whole, ["a"], "module"]


def test_what_is_there_stays_as_it_is() -> None:
    code = """
import pandas, mcp
import_gradio()
import gradio.mcp
found = [sys.modules["pandas"] is pandas, sys.modules["mcp"] is mcp, hasattr(gradio.mcp.GradioMCPServer, "types")]
"""
    assert run(QUICKLY + code) == [True, True, True]
