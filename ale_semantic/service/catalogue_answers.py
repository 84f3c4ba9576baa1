"""What a search form needs to know: the fields of the filter, their values, what may be asked of them, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ale_semantic.facet_fields import FieldKind
from ale_semantic.filters import Operator
from ale_semantic.serialise import SCHEMA_VERSION
from ale_semantic.types import Band, Mode
from ale_semantic.variants import Variant

from .config import ServiceConfig
from .parameters import NoParameters
from .search_answers import CARD_COLUMNS, Json, origin

if TYPE_CHECKING:
    from .holder import OpenIndex


def catalogue(index: OpenIndex, asked: NoParameters, config: ServiceConfig) -> Json:
    """Answer what there is to search, and all that a search form needs to know."""
    return {
        "schema": SCHEMA_VERSION,
        "tasks": len(index.engine.catalogue),
        "fields": _fields(index),
        "card_columns": list(CARD_COLUMNS),
        "modes": list(Mode),
        "bands": list(Band),
        "variants": list(Variant),
        "limits": {
            "max_k": config.max_k,
            "max_query_chars": config.max_query_chars,
            "max_body_bytes": config.max_body_bytes,
            "deadline_seconds": config.deadline_seconds,
        },
        **origin(index),
    }


def _fields(index: OpenIndex) -> list[Json]:
    table = index.engine.facet_table
    counts = {facet.field: facet for facet in table.counts()}
    found = []
    for summary in table.describe():
        facet = counts.get(summary.name)
        values = [{"value": one.value, "count": one.count} for one in facet.values] if facet else None
        found.append(
            {
                "name": summary.name,
                "kind": str(summary.kind),
                "description": summary.description,
                "operators": _operators(summary.kind),
                "distinct": summary.distinct,
                "missing": summary.missing,
                "multivalued": summary.kind is FieldKind.MULTI,
                "values": values,
            }
        )
    return found


def _operators(kind: FieldKind) -> list[str]:
    """Return what the filter language may ask of a field."""
    names = [str(Operator.EQUAL), "!=", "in", "not in"]
    if kind.is_ordered:
        names += map(str, (Operator.LESS, Operator.AT_MOST, Operator.MORE, Operator.AT_LEAST))
    if kind.is_textual:
        names.append(str(Operator.CONTAINS))
    return [*names, "is missing", "is present"]
