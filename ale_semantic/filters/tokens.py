"""From the text of a filter to its tokens: words, quoted values and signs, each with its position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ale_semantic.errors import FilterError
from ale_semantic.filters.words import QUOTES, is_word_character

_SIGNS = ("!=", "<=", ">=", "==", "<", ">", "=", "~", "(", ")", ",")  # the longer first
_CURES = {
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not' or '!='",
    ":": "write '=', or put a value with ':' in it in quotes",
    **dict.fromkeys("“”„\u2018\u2019«»`", "use straight quotes"),
}


class TokenKind(StrEnum):
    """What a token is made of."""

    WORD = "word"
    QUOTED = "quoted"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a quoted value without its quotes, a sign or the end; `position` is a 0-based offset."""

    kind: TokenKind
    text: str
    position: int

    @property
    def keyword(self) -> str:
        """Return the sign or the case-folded word; a quoted value is never a keyword."""
        return self.text.casefold() if self.kind in (TokenKind.WORD, TokenKind.SIGN) else ""

    @property
    def shown(self) -> str:
        """Return the token for a message."""
        return "the end of the filter" if self.kind is TokenKind.END else repr(self.text)


def error(problem: str, expression: str, position: int) -> FilterError:
    """Return an error that tells where in the expression the problem is."""
    return FilterError(f"{problem} (at position {position})", expression=expression, position=position)


def tokens(expression: str) -> Iterator[Token]:
    """Yield the tokens of an expression, the end last.

    Raises:
        FilterError: at a quote that is never closed or a character that belongs in quotes.
    """
    at = 0
    while at < len(expression):
        start = at
        if expression[at].isspace():
            at += 1
        elif expression[at] in QUOTES:
            value, at = _quoted(expression, at)
            yield Token(TokenKind.QUOTED, value, start)
        elif is_word_character(expression[at]):
            at = _word_end(expression, at)
            yield Token(TokenKind.WORD, expression[start:at], start)
        else:
            sign = _sign(expression, at)
            at += len(sign)
            yield Token(TokenKind.SIGN, sign, start)
    yield Token(TokenKind.END, "", at)


def _word_end(expression: str, at: int) -> int:
    while at < len(expression) and is_word_character(expression[at]):
        at += 1
    return at


def _sign(expression: str, at: int) -> str:
    for sign in _SIGNS:
        if expression.startswith(sign, at):
            return sign
    cure = _CURES.get(expression[at], "put a value with such characters in quotes")
    raise error(f"unexpected {expression[at]!r}: {cure}", expression, at)


def _quoted(expression: str, start: int) -> tuple[str, int]:
    """Return the value in the quotes that open at `start`, and the offset after them."""
    quote, value, at = expression[start], "", start + 1
    while at < len(expression) and expression[at] != quote:
        if expression[at] == "\\" and expression[at + 1 : at + 2] in ("\\", *QUOTES):
            at += 1
        value += expression[at]
        at += 1
    if at == len(expression):
        raise error(f"the quote {quote} is never closed", expression, start)
    return value, at + 1
