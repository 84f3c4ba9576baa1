"""From the text of a filter to a condition: a recursive descent with one token of look-ahead.

Written out rather than generated: importing a parser library would take longer than a search.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from ale_semantic.errors import FilterError
from ale_semantic.filters.conditions import And, Comparison, Condition, Missing, Not, Operator, Or, Written
from ale_semantic.filters.tokens import Token, TokenKind, error, tokens
from ale_semantic.filters.words import KEYWORDS, MAX_DEPTH, MAX_LENGTH, quoted

_OPERATORS = {
    "=": Operator.EQUAL,
    "==": Operator.EQUAL,
    "<": Operator.LESS,
    "<=": Operator.AT_MOST,
    ">": Operator.MORE,
    ">=": Operator.AT_LEAST,
    "~": Operator.CONTAINS,
    "contains": Operator.CONTAINS,
}
_OPERATOR_NAMES = "=, !=, <, <=, >, >=, in, not in, contains, is missing or is present"


@lru_cache(maxsize=256)  # a filter stays while queries change
def parse(expression: str) -> Condition | None:
    """Read a filter; a blank one is None, which means no filter.

    Raises:
        FilterError: with the 0-based position of the first thing that can't be understood, and what was expected.
    """
    if len(expression) > MAX_LENGTH:
        raise error(
            f"the filter has {len(expression)} characters, at most {MAX_LENGTH} are taken", expression, MAX_LENGTH
        )
    if not expression.strip():
        return None
    try:
        return _Parser(expression).filter()
    except FilterError as fault:
        if fault.position is not None:
            raise
        raise FilterError(str(fault), expression=expression, position=0) from None


class _Parser:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = tokens(expression)
        self._next = next(self._tokens)
        self._depth = 0

    def filter(self) -> Condition:
        condition = self._condition()
        if self._next.keyword == ")":
            self._fail(self._next, "')' closes nothing: remove it, or add '(' before")
        if self._next.kind is not TokenKind.END:
            self._expected("'and', 'or' or the end")
        return condition

    def _condition(self) -> Condition:
        return self._joined("or", Or, lambda: self._joined("and", And, self._negation))

    def _joined(self, word: str, kind: type[And] | type[Or], part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._take_if(word):
            parts.append(part())
        return kind(tuple(parts)) if len(parts) > 1 else parts[0]

    def _negation(self) -> Condition:
        first = self._next
        if first.keyword not in ("not", "("):
            return self._comparison()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(first, f"the filter is nested more than {MAX_DEPTH} deep: simplify it")
        self._take()
        condition: Condition
        if first.keyword == "not":
            condition = Not(self._negation())
        else:
            condition = self._condition()
            if not self._take_if(")"):
                self._expected("'and', 'or' or ')'")
        self._depth -= 1
        return condition

    def _comparison(self) -> Condition:
        name = self._next
        if name.kind is not TokenKind.WORD or name.keyword in KEYWORDS:
            self._expected("the name of a field, 'not' or '('")
        self._take()
        sign = self._next
        if sign.keyword in _OPERATORS:
            self._take()
            return self._compared(name, _OPERATORS[sign.keyword], [self._value()])
        if self._take_if("!="):
            return Not(self._compared(name, Operator.EQUAL, [self._value()]))
        if self._take_if("in"):
            return self._compared(name, Operator.EQUAL, self._list())
        if self._take_if("not"):
            return Not(self._negated_comparison(name))
        if self._take_if("is"):
            missing = Missing(name.text, Written(self._expression, name.position))
            return missing if self._missing() else Not(missing)
        self._expected(f"{_OPERATOR_NAMES} after {name.text!r}")

    def _negated_comparison(self, name: Token) -> Comparison:
        if self._take_if("in"):
            return self._compared(name, Operator.EQUAL, self._list())
        if self._take_if("contains"):
            return self._compared(name, Operator.CONTAINS, [self._value()])
        self._expected("'in' or 'contains' after 'not'")

    def _compared(self, name: Token, operator: Operator, values: list[Token]) -> Comparison:
        written = Written(self._expression, name.position, tuple(value.position for value in values))
        return Comparison(name.text, operator, tuple(value.text for value in values), written)

    def _missing(self) -> bool:
        negated = self._take_if("not")
        if self._take_if("missing"):
            return not negated
        if self._take_if("present"):
            return negated
        self._expected("'missing' or 'present' after 'is'")

    def _list(self) -> list[Token]:
        if not self._take_if("("):
            self._expected("'(' and a list of values")
        values = [self._value()]
        while self._take_if(","):
            values.append(self._value())
        if not self._take_if(")"):
            self._expected("',' or ')' in the list of values")
        return values

    def _value(self) -> Token:
        value = self._next
        if value.keyword in KEYWORDS:
            self._expected(f"a value (as a value, {value.text} needs quotes)")
        if value.kind not in (TokenKind.WORD, TokenKind.QUOTED):
            self._expected("a value")
        self._take()
        further = self._next
        if value.kind is further.kind is TokenKind.WORD and further.keyword not in KEYWORDS:
            self._fail(further, f"a value of several words needs quotes: {quoted(f'{value.text} {further.text}')}")
        return value

    def _take(self) -> None:
        self._next = next(self._tokens)

    def _take_if(self, keyword: str) -> bool:
        found = self._next.keyword == keyword
        if found:
            self._take()
        return found

    def _expected(self, what: str) -> NoReturn:
        self._fail(self._next, f"expected {what}, found {self._next.shown}")

    def _fail(self, token: Token, problem: str) -> NoReturn:
        raise error(problem, self._expression, token.position)
