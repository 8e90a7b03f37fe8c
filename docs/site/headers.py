"""Reads the public declarations of headers, with the comment of each: declarations(FOLDER).

It is no compiler: it relies on the formatting of this project (clang-format, one declaration a statement). It needs nothing but Python,
so that a test can use it where Doxygen is not installed; scripts/site --check compares its names with those that Doxygen finds."""
import bisect
import dataclasses
import pathlib
import re

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
NOT_A_NAME = {"decltype", "noexcept", "requires", "explicit", "alignas", "sizeof", "void", "bool", "int", "double", "auto", "const"}
PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass
class Declaration:
    header: str  # "tessera/nn/layers.h"
    line: int  # of its first token
    scope: str  # "nn", "Array", "" for the library's namespace itself
    name: str
    kind: str  # function, class, enum, enumerator, concept, alias, variable, field, macro
    text: str  # as in the header, without a body
    owner: str = ""  # the class that it is a member of, as "nn::Linear"
    doc: str = ""  # its own comment
    shared: str = ""  # the comment of the run of lines that it stands in, if this names it
    unavailable: bool = False  # it exists only to explain a mistake

    @property
    def full(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def comment(self):
        return self.doc or self.shared


def mentions(text, name):
    return bool(re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text))


class Header:
    """One header: its text with comments, literals and directives blanked, and its comments by line."""

    def __init__(self, path, shown):
        self.source, self.header = path.read_text(), shown
        self.lines = self.source.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.macros = []
        self.found = []
        self.blank()

    def line_of(self, at):
        return bisect.bisect_right(self.starts, at)

    def blank(self):
        pattern = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)

        def replaced(m):
            if m[0].lstrip().startswith("#") and (d := re.match(r"\s*#define (\w+)", m[0])):
                self.macros.append((self.line_of(m.start()), d[1], m[0]))
            keep = '""' if m[0][0] == '"' else ""
            return keep + re.sub(r"[^\n]", " ", m[0][len(keep):])
        self.text = pattern.sub(replaced, self.source)

    def above(self, line):
        """The text of the `///` comment that ends directly above a line."""
        at, found = line - 2, []
        while at >= 0 and (m := re.match(r"\s*///(?: (.*)|$)", self.lines[at])):
            found.insert(0, m[1] or "")
            at -= 1
        return "\n".join(found).strip()

    def behind(self, line):
        """The text of a `//` comment behind the code of a line."""
        start = self.starts[line - 1]
        end = self.starts[line] - 1
        code = self.text[start:end].rstrip()
        rest = self.source[start + len(code):end].strip()
        if not code or not rest.startswith("//"):
            return ""
        found = [rest.lstrip("/ ")]
        # Further lines of it are comments alone, in the same column.
        column = self.source.index("//", start + len(code)) - start
        while line < len(self.lines) and re.match(rf"\s{{{column}}}// ", self.lines[line]):
            found.append(self.lines[line].strip().lstrip("/ "))
            line += 1
        return " ".join(found)

    def closing(self, at):
        depth, close = [], self.text
        while at < len(close):
            c = close[at]
            if c in PAIRS:
                depth.append(PAIRS[c])
            elif depth and c == depth[-1]:
                depth.pop()
                if not depth:
                    return at
            at += 1
        raise ValueError(f"{self.header}: a bracket is not closed")

    def statement(self, at, end):
        """(begin, end of the head, begin of a block or None, what follows) of the statement at or behind `at`."""
        while at < end and self.text[at] in " \n\t;":
            at += 1
        begin = at
        while at < end:
            c = self.text[at]
            if c == ";":
                return begin, at, None, at + 1
            if c in "([":
                at = self.closing(at)
            elif c == "{":
                head = self.text[begin:at]
                close = self.closing(at)
                if self.is_block(head):
                    return begin, at, at, close + 1
                at = close
            elif c == ":" and re.fullmatch(r"\s*(public|private|protected)\s*", self.text[begin:at]):
                return begin, at, None, at + 1
            elif c == ")" or c == "}":
                return None
            elif c.isupper() and (m := re.compile(r"TESSERA_\w+_\(").match(self.text, at)) and at == begin:
                close = self.closing(m.end() - 1)
                if re.match(r"\s*(;|TESSERA_|template|///|\n\s*\n)", self.text[close + 1:close + 60] or ";"):
                    return begin, close + 1, None, close + 1
                at = close
            at += 1
        return None

    @staticmethod
    def is_block(head):
        bare = without_templates(head)
        if re.match(r"(inline\s+)?(namespace|class|struct|union|enum|extern\b\s*\"\")\b", bare) and "(" not in re.sub(r"alignas\(\w+\)", "", bare):
            return True
        if re.search(r"\brequires\s*$", head) or re.search(r"\brequires\s*\([^()]*\)\s*$", head):
            return False
        flat = flattened(bare)
        if "operator" not in flat and re.search(r"(?<![=!<>])=(?!=)", flat.split("(")[0]):
            return False
        if "(" not in flat:
            return False
        return not re.search(r"\w$", head) or bool(re.search(r"\b(const|noexcept|override)$", head))

    def read(self):
        self.scope_of(0, len(self.text), [], "", True)
        self.share()
        return self.found

    def add(self, begin, end, names, scope, name, kind, owner, unavailable=False):
        line = self.line_of(begin)
        last = self.line_of(end)
        doc = self.above(line)
        if kind in ("field", "enumerator") and not doc:
            doc = self.behind(self.line_of(end))
        text = self.source[begin:end].strip()
        d = Declaration(self.header, line, scope, name, kind, text, owner, doc, "", unavailable)
        d.last = last
        self.found.append(d)

    def scope_of(self, at, end, path, owner, visible):
        """Reads the statements of a namespace or class. `path` has the names around it."""
        scope = "::".join(path)
        while (s := self.statement(at, end)) is not None:
            begin, head_end, block, at = s
            head = self.text[begin:head_end].strip()
            if not head:
                continue
            if m := re.fullmatch(r"(public|private|protected)", head):
                visible = m[1] == "public"
                continue
            bare = re.sub(r"^(\[\[\w+\]\]\s*)+", "", without_templates(head))
            if m := re.match(r"(?:inline\s+)?namespace\s*([\w:\s]*)$", bare):
                names = [n.split()[-1] for n in m[1].split("::") if n.strip()]
                names = [n for n in names if n not in ("tessera", "v0")]
                if names != ["detail"] and "detail" not in names and (names or "tessera" in m[1] or not m[1]) and m[1].strip() and "std" not in names:
                    self.scope_of(block + 1, at - 1, path + names, "", True)
                continue
            if not visible:
                continue
            self.declared(begin, head_end, block, at, head, bare, path, owner)

    def declared(self, begin, head_end, block, at, head, bare, path, owner):
        scope = "::".join(path)
        add = lambda name, kind, e=head_end, **more: self.add(begin, e, None, scope, name, kind, owner, **more)
        unavailable = "unavailable" in head or "TESSERA_UNAVAILABLE_" in head or "TESSERA_ARGNUMS_" in head
        if re.match(r"(friend|static_assert|extern\s+template|using\s+namespace)\b", bare):
            return
        if m := re.match(r"(?:TESSERA_\w+_)\s*\(", bare):
            inside = self.source[begin:head_end]
            if re.match(r"TESSERA_(NO_|.*BRACES)", inside):
                return
            if n := re.match(r"TESSERA_\w+_\(\s*(\w+)", inside):
                add(n[1], "function")
            return
        if m := re.match(r"(class|struct|union)\s+(?:TESSERA_API\s+|alignas\(\w+\)\s*|\[\[\w+\]\]\s*|__attribute__\(\(\w+\)\)\s*)*([\w:]+)(?P<special>\s*<)?", bare):
            if block is None or m["special"] or "(" in bare[m.end():]:
                return
            name = m[2]
            if "::" in name:  # a class that was declared inside another one
                path = path + name.split("::")[:-1]
                scope, name = "::".join(path), name.split("::")[-1]
            self.add(begin, head_end, None, scope, name, "class", owner)
            self.found[-1].last = self.line_of(self.closing(block))
            inner = path + [name]
            self.scope_of(block + 1, self.closing(block), inner, "::".join(inner), m[1] != "class")
            return
        if m := re.match(r"enum\s+(?:class\s+|struct\s+)?(\w+)", bare):
            if block is None:
                return
            add(m[1], "enum")
            self.enumerators(block, path + [m[1]])
            return
        if m := re.match(r"using\s+(\w+)\s*=", bare):
            if not m[1].startswith("tessera_"):
                add(m[1], "alias")
            return
        if m := re.match(r"using\s+(?:typename\s+)?([\w:]+)::(\w+)$", bare):
            if not owner and "detail" not in m[1]:
                add(m[2], "alias")
            return
        if re.match(r"using\b|typedef\b", bare):
            return
        if m := re.match(r"concept\s+(\w+)", bare):
            add(m[1], "concept")
            return
        name = function_name(bare)
        if name:
            last = path[-1] if path else ""
            if owner and name.lstrip("~") == last or name.startswith("~"):
                name = name if name.startswith("~") else last
            if block is None and re.search(r"\)\s*->", flattened(bare)) and re.match(rf"(explicit\s+)?{re.escape(name)}\s*\(", bare):
                return  # a deduction guide
            if "::" in name:
                return  # a member that is defined outside its class
            add(name, "function", unavailable=unavailable)
            return
        for piece in split_commas(bare):
            piece = re.sub(r"\[[^\]]*\]\s*$", "", re.split(r"=|\{", piece)[0].rstrip())
            if (m := re.search(r"([A-Za-z_]\w*)\s*$", piece)) and not piece.rstrip().endswith(">"):
                add(m[1], "field" if owner and "static" not in bare and "constexpr" not in bare else "variable", head_end)

    def enumerators(self, block, path):
        close = self.closing(block)
        at = block + 1
        for piece in split_commas(self.text[block + 1:close]):
            if m := IDENTIFIER.search(piece):
                begin = at + m.start()
                self.add(begin, begin + len(piece[m.start():].rstrip()), None, "::".join(path), m[0], "enumerator", "::".join(path))
            at += len(piece) + 1

    def share(self):
        """A comment also describes the declarations directly below the one that it stands above, if it names them or they give that type."""
        by_scope = {}
        for d in self.found:
            by_scope.setdefault((d.scope, d.owner), []).append(d)
        for group in by_scope.values():
            run, before, first = "", None, None
            for d in group:
                if d.doc:
                    run, first = (d.doc, d) if self.above(d.line) else (run, first)
                elif before is None or not self.adjacent(before.last, d.line):
                    run = ""
                gives = run and d.kind == "function" and first.kind in ("class", "alias") and mentions(d.text, first.name)
                if not d.doc and run and (gives or mentions(run, d.name)):
                    d.shared = run
                before = d

    def adjacent(self, last, line):
        """Whether only code is between two lines: no empty line and no comment of its own."""
        return all(self.lines[k].strip() and not self.lines[k].strip().startswith("//") for k in range(last, line - 1))


def flattened(text):
    """The text without what stands in angle brackets."""
    while (shorter := re.sub(r"(?<![<=])<(?![<=])[^<>;]*>(?!=)", "", text)) != text:
        text = shorter
    return text


def split_commas(text):
    parts, depth, begin = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            parts.append(text[begin:k])
            begin = k + 1
    return parts + [text[begin:]]


def balanced(text, at, opening, closing):
    depth = 0
    while at < len(text):
        depth += (text[at] == opening) - (text[at] == closing)
        at += 1
        if depth == 0:
            return at
    return at


def without_templates(head):
    """The head of a declaration without `template <...>`, `requires (...)`, attributes and the export macro in front."""
    head = head.strip()
    while True:
        if m := re.match(r"template\s*(?=<)", head):
            head = head[balanced(head, m.end(), "<", ">"):].lstrip()
        elif m := re.match(r"requires\s*(?=\()", head):
            head = head[balanced(head, m.end(), "(", ")"):].lstrip()
            while m := re.match(r"(?:&&|\|\|)\s*(?:requires\s*)?!?(?:[\w:]+\s*(?=<)|(?=\()|\w+)", head):
                head = head[m.end():]
                if head[:1] in "<(":
                    head = head[balanced(head, 0, head[0], ">" if head[0] == "<" else ")"):].lstrip()
        elif m := re.match(r"requires\s+!?[\w:]+\s*(?=<)", head):
            head = head[balanced(head, m.end(), "<", ">"):].lstrip()
        elif m := re.match(r"(?:__attribute__|TESSERA_UNAVAILABLE_|alignas)\s*(?=\()", head):
            head = head[balanced(head, m.end(), "(", ")"):].lstrip()
        elif m := re.match(r"(?:TESSERA_API|\[\[\w+\]\])\s+", head):
            head = head[m.end():]
        else:
            return head


def function_name(bare):
    """The name of a function in the head of its declaration, or None."""
    flat = bare
    if m := re.search(r"\boperator\s*(\(\)|\[\]|[^\s\w(]+|\"\"\s*\w+|[\w:<>\s*&]+?)\s*\(", flat):
        return ("operator" + m[1]) if not re.match(r"\w", m[1]) else f"operator {m[1].strip()}"
    depth = 0
    for m in re.finditer(r"[<>(=]|[~A-Za-z_][\w:~]*", flat):
        if m[0] == "<":
            depth += 1
        elif m[0] == ">":
            depth -= flat[m.start() - 1] != "-"
        elif m[0] == "=" and depth == 0:
            return None
        elif m[0] == "(" and depth == 0:
            before = re.search(r"([~A-Za-z_][\w:~]*)\s*$", flat[:m.start()])
            if not before:
                return None
            if before[1] in ("decltype", "noexcept", "explicit", "__attribute__", "TESSERA_UNAVAILABLE_", "TESSERA_ARGNUMS_"):
                rest = flat[balanced(flat, m.start(), "(", ")"):]
                return function_name(rest) or None
            return None if before[1] in NOT_A_NAME else before[1]
    return None


def declarations(include):
    """All public declarations below a folder such as include/, by header."""
    found = []
    for path in sorted(pathlib.Path(include).rglob("*.h")):
        shown = path.relative_to(include).as_posix()
        header = Header(path, shown)
        inside = header.read()
        if "/detail/" not in shown:
            found += inside
        for line, name, text in header.macros:
            if not name.endswith("_"):
                found.append(Declaration(shown, line, "", name, "macro", text.split("\n")[0].rstrip("\\ "), doc=header.above(line)))
    return [d for d in found if "detail" not in d.scope.split("::")]


# Members that the language or the library asks for, not the user.
ASKED_FOR = {"named", "value_type", "difference_type", "iterator", "const_iterator", "tessera_fields", "tessera_field_names"}


def documented(all_declarations):
    """{(scope, name): declarations} of the names that need a comment, and the set of those that have one."""
    names = {}
    for d in all_declarations:
        if d.owner and d.name in ASKED_FOR:
            continue
        if not d.unavailable and not d.name.startswith(("operator", "~")) and not (d.owner and d.name == d.owner.split("::")[-1]):
            names.setdefault((d.scope, d.name), []).append(d)
    classes = {d.full: d.comment for d in all_declarations if d.kind in ("class", "enum") and d.comment}
    good = {key for key, group in names.items()
            if any(d.comment or mentions(classes.get(d.owner, ""), d.name) for d in group)}
    return names, good
