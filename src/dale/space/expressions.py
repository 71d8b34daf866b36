"""Constraints as text, such as ``"0 <= a + 2 * b <= 4"``: read by a small grammar, never by ``eval``.

    constraint  sum (("<=" | ">=" | "==") sum)+
    sum         product (("+" | "-") product)*
    product     sign (("*" | "/") sign)*
    sign        ("+" | "-") sign | power
    power       atom ("**" sign)?
    atom        number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

As in Python, ``-a ** 2`` is ``-(a ** 2)`` and ``2 ** 3 ** 2`` is ``2 ** 9``. A name that is not an identifier is
written in quotes: ``'learning rate' + b <= 1``.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dale.errors import SpaceError

MAX_TOKENS = 400  # bounds the depth of the tree
MAX_NESTING = 40  # of parentheses, signs and powers
TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |'(?P<quoted>[^']*)'|"(?P<double>[^"]*)"
    |(?P<symbol>\*\*|[<>=!]=|.)
    )""",
    re.VERBOSE | re.DOTALL,
)
COMPARISONS = ("<=", ">=", "==")
SYMBOLS = (*COMPARISONS, "+", "-", "*", "/", "**", "(", ")", ",")
HINTS = {"=": "==", "<": "<=", ">": ">=", "^": "**"}
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "abs": abs, "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log10": math.log10, "sin": math.sin,
    "cos": math.cos, "tan": math.tan, "min": min, "max": max,
}  # fmt: skip
SEVERAL_ARGUMENTS = ("min", "max")
OPERATORS: Mapping[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": math.pow,  # an error where Python's ** would return a complex number
    "negative": lambda a: -a,
}


class Token(NamedTuple):
    """A number, a name, a symbol or the end, and its position in the text."""

    kind: str
    text: str
    position: int


@dataclass(frozen=True)
class Node:
    """A node of an expression's tree.

    Attributes:
        operation: ``"number"``, ``"name"``, an operator or a function.
        operands: A number, a name, or the nodes that the operation applies to.
    """

    operation: str
    operands: tuple[Any, ...]

    def value(self, values: Mapping[str, float]) -> float:
        """Value where the parameters have these values; math errors are raised."""
        if self.operation == "number":
            return float(self.operands[0])
        if self.operation == "name":
            return float(values[self.operands[0]])
        function = OPERATORS.get(self.operation) or FUNCTIONS[self.operation]
        return function(*[node.value(values) for node in self.operands])

    def affine(self) -> Affine | None:
        """The expression as constant + sum of coefficient times parameter; None if it is not linear."""
        if self.operation == "number":
            return Affine(self.operands[0], {})
        if self.operation == "name":
            return Affine(0.0, {self.operands[0]: 1.0})
        operands = [node.affine() for node in self.operands]
        parts = [part for part in operands if part is not None]
        if len(parts) < len(operands):
            return None
        if not any(part.coefficients for part in parts):
            function = OPERATORS.get(self.operation) or FUNCTIONS[self.operation]
            return Affine(function(*[part.constant for part in parts]), {})
        left, right = parts[0], parts[-1]
        if self.operation == "negative":
            return left.times(-1.0)
        if self.operation in ("+", "-"):
            return left.plus(right if self.operation == "+" else right.times(-1.0))
        if self.operation == "*" and not (left.coefficients and right.coefficients):
            return left.times(right.constant) if left.coefficients else right.times(left.constant)
        if self.operation == "/" and not right.coefficients:
            return left.divided_by(right.constant)
        return None


@dataclass(frozen=True)
class Affine:
    """constant + sum of coefficient times parameter."""

    constant: float
    coefficients: Mapping[str, float]

    def plus(self, other: Affine) -> Affine:
        """The sum; parameters that cancel are left out."""
        names = {**self.coefficients, **other.coefficients}
        total = {n: self.coefficients.get(n, 0.0) + other.coefficients.get(n, 0.0) for n in names}
        return Affine(self.constant + other.constant, {n: c for n, c in total.items() if c != 0})

    def times(self, factor: float) -> Affine:
        """The product with a number."""
        scaled = {n: factor * c for n, c in self.coefficients.items() if factor * c != 0}
        return Affine(factor * self.constant, scaled)

    def divided_by(self, divisor: float) -> Affine:
        """The quotient by a number."""
        return Affine(self.constant / divisor, {n: c / divisor for n, c in self.coefficients.items()})


@dataclass(frozen=True)
class Comparison:
    """left <= right, or left == right."""

    left: Node
    right: Node
    is_equality: bool

    def affine(self) -> Affine | None:
        """left - right; None if it is not linear."""
        return Node("-", (self.left, self.right)).affine()

    def value(self, values: Mapping[str, float]) -> float:
        """left - right."""
        return self.left.value(values) - self.right.value(values)

    def names(self) -> set[str]:
        """Names of the parameters in it."""
        return _names(self.left) | _names(self.right)


def _names(node: Node) -> set[str]:
    if node.operation == "name":
        return {node.operands[0]}
    return set() if node.operation == "number" else {name for operand in node.operands for name in _names(operand)}


def parse_constraint(text: str, names: Sequence[str]) -> tuple[Comparison, ...]:
    """The comparisons of a constraint between parameters with these names.

    Raises:
        SpaceError: The text is not a constraint; the message has the position, from 1.

    Examples:
        >>> (comparison,) = parse_constraint("2 * (a + 1) <= b", ["a", "b"])
        >>> comparison.affine()
        Affine(constant=2.0, coefficients={'a': 2.0, 'b': -1.0})
        >>> [c.is_equality for c in parse_constraint("0 <= a ** 2 <= b", ["a", "b"])]
        [False, False]
    """
    return _Parser(text, names).constraint()


class _Parser:
    """Recursive descent: one method for each rule of the grammar."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self.names = names
        self.tokens = self._tokens()
        self.next = 0
        self.nesting = 0

    def constraint(self) -> tuple[Comparison, ...]:
        left, found = self._sum(), []
        while self._at(*COMPARISONS):
            symbol, right = self._take().text, self._sum()
            found.append(Comparison(right, left, False) if symbol == ">=" else Comparison(left, right, symbol == "=="))
            left = right
        if not found or self.tokens[self.next].kind != "end":
            operators = "" if found and not self._at(")") else "'<=', '>=' or '==', or "
            raise self._error(f"expected {operators}an operator")
        for comparison in found:
            if not comparison.names():
                raise SpaceError(f"constraint {self.text!r}: expected a parameter in each comparison; {self._known()}")
        return tuple(found)

    def _sum(self) -> Node:
        node = self._product()
        while self._at("+", "-"):
            node = Node(self._take().text, (node, self._product()))
        return node

    def _product(self) -> Node:
        node = self._sign()
        while self._at("*", "/"):
            node = Node(self._take().text, (node, self._sign()))
        return node

    def _sign(self) -> Node:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise SpaceError(
                f"constraint {self.text[:60]!r}... is nested too deeply; expected {MAX_NESTING} levels at most"
            )
        if self._at("+", "-"):
            symbol = self._take().text
            node = self._sign()
            node = node if symbol == "+" else Node("negative", (node,))
        else:
            node = self._power()
        self.nesting -= 1
        return node

    def _power(self) -> Node:
        node = self._atom()
        if self._at("**"):
            self._take()
            node = Node("**", (node, self._sign()))
        return node

    def _atom(self) -> Node:
        token = self.tokens[self.next]
        if token.kind == "number":
            return Node("number", (float(self._take().text),))
        if token.kind == "name" and self.tokens[self.next + 1].text == "(":
            return self._call()
        if token.kind in ("name", "quoted"):
            if token.text not in self.names:
                raise self._unknown(token)
            return Node("name", (self._take().text,))
        if not self._at("("):
            raise self._error("expected a number, a parameter or '('")
        self._take()
        node = self._sum()
        self._close()
        return node

    def _call(self) -> Node:
        token = self._take()
        if token.text not in FUNCTIONS:
            raise self._error(f"expected one of the functions {', '.join(FUNCTIONS)}", token)
        self._take()
        arguments = [self._sum()]
        while self._at(","):
            self._take()
            arguments.append(self._sum())
        self._close()
        if (len(arguments) > 1) != (token.text in SEVERAL_ARGUMENTS):
            n = "at least two arguments" if token.text in SEVERAL_ARGUMENTS else "one argument"
            raise self._error(f"{token.text} takes {n}, got {len(arguments)}", token)
        return Node(token.text, tuple(arguments))

    def _close(self) -> None:
        if not self._at(")"):
            raise self._error("expected ')' or an operator")
        self._take()

    def _at(self, *symbols: str) -> bool:
        token = self.tokens[self.next]
        return token.kind == "symbol" and token.text in symbols

    def _take(self) -> Token:
        self.next += 1
        return self.tokens[self.next - 1]

    def _tokens(self) -> list[Token]:
        tokens, position, text = [], 0, self.text.rstrip()
        while position < len(text):
            match = TOKEN.match(text, position)
            assert match is not None  # the last alternative takes any character
            kind = "quoted" if match.lastgroup == "double" else str(match.lastgroup)
            start = match.start(str(match.lastgroup)) - (kind == "quoted")
            token = Token(kind, match[str(match.lastgroup)], start)
            if kind == "symbol" and token.text not in SYMBOLS:
                hint = f"; did you mean {HINTS[token.text]!r}?" if token.text in HINTS else ""
                raise self._error("expected a number, a parameter or an operator", token, hint)
            tokens.append(token)
            position = match.end()
        if len(tokens) > MAX_TOKENS:
            raise SpaceError(
                f"constraint {self.text[:60]!r}... has {len(tokens)} numbers, names and symbols; expected at most "
                f"{MAX_TOKENS}: use a callable or a LinearConstraint"
            )
        return [*tokens, Token("end", "", len(text))]

    def _error(self, expected: str, token: Token | None = None, hint: str = "") -> SpaceError:
        token = self.tokens[self.next] if token is None else token
        got = "" if ", got" in expected else f", got {'the end' if token.kind == 'end' else repr(token.text)}"
        return SpaceError(
            f"constraint {self.text!r}, position {token.position + 1}: {expected}{got}{hint}; {self._known()}"
        )

    def _unknown(self, token: Token) -> SpaceError:
        close = difflib.get_close_matches(token.text, self.names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return self._error("expected the name of a parameter", token, hint)

    def _known(self) -> str:
        return f"the parameters are {', '.join(self.names)}"
