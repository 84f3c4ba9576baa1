"""Tools as a language model reads them best: schemas without references, strict arguments, refusals in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import ToolAnnotations
from pydantic import ConfigDict, ValidationError

from .strict_json import strict_json, type_fault


class StrictTool(Tool):
    """A tool that refuses arguments it doesn't know, and says in one line what is wrong with the others."""

    @classmethod
    def of(cls, method: Callable[..., Any], *, title: str, annotations: ToolAnnotations) -> StrictTool:
        """Return the tool that a method's signature and docstring describe."""
        description = " ".join((method.__doc__ or "").split())
        made = cls.from_function(method, title=title, description=description, annotations=annotations)
        assert isinstance(made, StrictTool)  # the SDK declares the base
        metadata = made.fn_metadata
        metadata.arg_model = _strict(metadata.arg_model)
        if metadata.output_schema is not None:
            metadata.output_schema = slim(metadata.output_schema)
        made.parameters = slim(metadata.arg_model.model_json_schema(by_alias=True))
        return made

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Run the tool.

        Raises:
            ToolError: if the arguments don't fit, or the engine refuses what is asked.
        """
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as fault:
            if isinstance(fault.__cause__, ValidationError):
                raise ToolError(_refusal(fault.__cause__, self.fn_metadata.arg_model.model_fields)) from None
            raise


def _strict(model: type[ArgModelBase]) -> type[ArgModelBase]:
    """Return an argument model that takes no other arguments, and numbers and truth values as JSON has them alone."""
    strict = strict_json(model)
    strict.model_config = ConfigDict(**{**model.model_config, "extra": "forbid"})
    strict.model_rebuild(force=True)
    return strict


def _refusal(fault: ValidationError, known: Iterable[str]) -> str:
    parts = []
    for error in fault.errors(include_url=False):
        name = ".".join(map(str, error["loc"]))
        if error["type"] == "extra_forbidden":
            parts.append(f"unknown argument {name!r}; known are {', '.join(known)}")
        elif wrong := type_fault(error):
            parts.append(f"argument {name!r} {wrong}")
        else:
            parts.append(f"argument {name!r}: {error['msg']}")
    return "; ".join(parts)


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON schema in fewer words and without references, which not all clients follow.

    Definitions are put where they are used; titles, and nulls beside a type that may be left out, go away.
    """
    definitions = schema.get("$defs", {})

    def shorter(node: Any) -> Any:
        if isinstance(node, list):
            return [shorter(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            named = definitions[node["$ref"].rpartition("/")[2]]
            return shorter({**_without(named, "description"), **_without(node, "$ref")})
        kinds = [kind for kind in node.get("anyOf", ()) if kind != {"type": "null"}]
        if len(kinds) == 1:
            return shorter({**kinds[0], **_without(node, "anyOf")})
        kept = _without(node, "$defs", *(("title",) if isinstance(node.get("title"), str) else ()))
        if kept.get("default", ()) is None:
            kept = _without(kept, "default")
        return {key: shorter(value) for key, value in kept.items()}

    found: dict[str, Any] = shorter(schema)
    return found


def _without(node: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key not in keys}
