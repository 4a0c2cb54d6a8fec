"""Expressions of YAQL and Jinja, read by their precedence."""

from __future__ import annotations

from orchestrator.convert.syntax import (
    Binary,
    Call,
    Choice,
    Const,
    Filter,
    Many,
    Name,
    Node,
    Pairs,
    Part,
    Test,
    Token,
    Unary,
    Untranslatable,
    tokens,
    unquote,
)

_DEPTH = 40
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("or",),
    ("and",),
    ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("~",),
    ("*", "/", "//", "%"),
)
_NOT = 2  # `not` stands between `and` and the comparisons
_SAME = {"=": "==", "<>": "!="}
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def read(text: str) -> Node:
    """The tree of an expression; raises `Untranslatable`."""
    reader = _Reader(tokens(text))
    node = reader.choice()
    if reader.next.kind != "end":
        raise Untranslatable(f"'{reader.next.text}' is not understood here")
    return node


class _Reader:
    def __init__(self, found: list[Token]) -> None:
        self.found = found
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        return self.found[self.at]

    def take(self, *texts: str) -> str | None:
        """The next sign or word if it is one of these."""
        if self.next.kind in ("sign", "name") and self.next.text in texts:
            self.at += 1
            return self.found[self.at - 1].text
        return None

    def need(self, text: str) -> None:
        if self.take(text) is None:
            raise Untranslatable(f"'{text}' is missing before '{self.next.text or 'its end'}'")

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH:
            raise Untranslatable("it is nested too deep")
        node = self.level(0)
        while self.take("if"):
            condition = self.level(0)
            node = Choice(node, condition, self.choice() if self.take("else") else None)
        self.depth -= 1
        return node

    def level(self, number: int) -> Node:
        if number == _NOT and self.take("not"):
            return Unary("not", self.level(_NOT))
        if number == len(_LEVELS):
            return self.unary()
        node = self.level(number + 1)
        while sign := self._sign(number):
            node = Binary(_SAME.get(sign, sign), node, self.level(number + 1))
        return node

    def _sign(self, number: int) -> str | None:
        ahead = self.found[self.at + 1].text if self.at + 1 < len(self.found) else ""
        if number == _NOT and self.next.text == "not" and ahead == "in":
            self.at += 2
            return "not in"
        return self.take(*_LEVELS[number])

    def unary(self) -> Node:
        if sign := self.take("-", "+"):
            return Unary(sign, self.unary())
        node = self.postfix(self.atom())
        return Binary("**", node, self.unary()) if self.take("**") else node

    def postfix(self, node: Node) -> Node:
        while True:
            if self.take("."):
                node = Part(node, Const(self._key()))
            elif self.take("["):
                node = Part(node, self.choice())
                self.need("]")
            elif self.take("("):
                node = self._call(node)
            elif self.take("|"):
                node = Filter(node, str(self._key()), self._args() if self.take("(") else ())
            elif self.take("is"):
                node = self._test(node)
            else:
                return node

    def _key(self) -> str | int:
        token = self.next
        if token.kind not in ("name", "number"):
            raise Untranslatable(f"a name is missing before '{token.text or 'its end'}'")
        self.at += 1
        return token.text if token.kind == "name" else int(float(token.text))

    def _test(self, node: Node) -> Node:
        negated = self.take("not") is not None
        name = str(self._key())
        return Test(node, name, negated, self._args() if self.take("(") else ())

    def _args(self) -> tuple[Node, ...]:
        call = self._call(Name(""))
        if call.named:
            raise Untranslatable("named arguments of a filter or a test")
        return call.args

    def _call(self, function: Node) -> Call:
        args: list[Node] = []
        named: list[tuple[str, Node]] = []
        while not self.take(")"):
            ahead = self.found[min(self.at + 1, len(self.found) - 1)].text
            if self.next.kind == "name" and ahead == "=" and function != Name("switch"):
                named.append((str(self._key()), self._after("=")))
            else:
                args.append(self._pair(self.choice()))
            if not self.take(","):
                self.need(")")
                break
        return Call(function, tuple(args), tuple(named))

    def _after(self, sign: str) -> Node:
        self.need(sign)
        return self.choice()

    def _pair(self, key: Node) -> Node:
        """YAQL's `key => value`."""
        return Pairs(((key, self.choice()),)) if self.take("=>") else key

    def atom(self) -> Node:
        token = self.next
        self.at += 1
        if token.kind == "number":
            return Const(float(token.text) if "." in token.text else int(token.text))
        if token.kind == "text":
            return Const(unquote(token.text))
        if token.kind == "name":
            word = token.text.lower()
            return Const(_WORDS[word]) if word in _WORDS else Name(token.text)
        return self._bracketed(token)

    def _bracketed(self, token: Token) -> Node:
        if token.text == "(":
            node = self.choice()
            self.need(")")
            return node
        if token.text == "[":
            return Many(self._listed("]"))
        if token.text == "{":
            return self._map()
        if token.text == "$":
            return Name("$")
        raise Untranslatable(f"'{token.text}' is not understood here" if token.text else "it ends too early")

    def _listed(self, end: str) -> tuple[Node, ...]:
        parts: list[Node] = []
        while not self.take(end):
            parts.append(self.choice())
            if not self.take(","):
                self.need(end)
                break
        return tuple(parts)

    def _map(self) -> Pairs:
        parts: list[tuple[Node, Node]] = []
        while not self.take("}"):
            key = self.choice()
            parts.append((key, self._after(":")))
            if not self.take(","):
                self.need("}")
                break
        return Pairs(tuple(parts))
