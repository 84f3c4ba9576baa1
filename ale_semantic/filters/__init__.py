"""The filter language and the same conditions as Python objects.

    from ale_semantic.filters import field, parse

    parse("domain = legal and inputs >= 3") == (field("domain") == "legal") & (field("inputs") >= 3)

The grammar, with keywords in any case:

    condition  = conjunction, { "or", conjunction }
    conjunction = negation, { "and", negation }
    negation   = "not", negation | "(", condition, ")" | comparison
    comparison = name, ( "=" | "!=" | "<" | "<=" | ">" | ">=" | "contains" | "~" ), value
               | name, [ "not" ], "in", "(", value, { ",", value }, ")"
               | name, "is", ( "missing" | "present" | "not", "missing" )
    value      = bare word | 'quoted' | "quoted"

A bare word holds letters and digits of any script and `_ - . / + #`; anything else needs quotes. In quotes, a
backslash stands before a quote or another backslash. Which names and values there are is the facet table's to say.
"""

from ale_semantic.filters.builder import FieldReference, all_of, any_of, field
from ale_semantic.filters.conditions import And, Comparison, Condition, Missing, Not, Operator, Or, Written, field_name
from ale_semantic.filters.parser import parse

__all__ = [
    "And",
    "Comparison",
    "Condition",
    "FieldReference",
    "Missing",
    "Not",
    "Operator",
    "Or",
    "Written",
    "all_of",
    "any_of",
    "field",
    "field_name",
    "parse",
]
