"""The grammar of C++, of tree-sitter, and edits of texts that it has read."""
import re

import tree_sitter
import tree_sitter_cpp

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
_LOOPS = ("for_statement", "for_range_loop", "while_statement", "do_statement")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TEXTS = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)

# What stands around a cell. The line in front makes the rows of the tree the numbers of the cell's lines. A `;` at the end makes the last
# expression a statement.
BEFORE, BEHIND = b"void cell() {\n", b"\n;\n}"


def parse(text):
    """The tree of a cell, whose root is a function's body, or None if its brackets do not match."""
    root = _PARSER.parse(BEFORE + text.encode() + BEHIND).root_node
    if len(root.children) != 1 or root.children[0].type != "function_definition":
        return None
    return root.children[0].child_by_field_name("body")


def unreadable(text):
    """Whether the grammar cannot read a cell."""
    root = parse(text)
    return root is None or first_error(root) is not None


def first_error(node):
    """The first node that the grammar could not read, or None."""
    if node.is_error or node.is_missing:
        return node
    if not node.has_error:
        return None
    for child in node.children:
        if (found := first_error(child)) is not None:
            return found
    return None


def words(text):
    """The identifiers of a text, without those in comments and strings."""
    return {w.decode() for w in _WORD.findall(_TEXTS.sub(b" ", text.encode()))}


class Edits:
    """The text of a cell with insertions, taken by ranges of the original."""

    def __init__(self, source, root, variables):
        self.source, self.variables = source, variables
        self.insertions = []  # (position, text)
        self.blanked = []     # ranges that become spaces
        self._walk(root)
        self.insertions.sort(key=lambda i: i[0])

    def _walk(self, node):
        if node.type == "function_definition":
            head = self.source[node.start_byte:node.child_by_field_name("body").start_byte] if node.child_by_field_name("body") else b""
            if b"constexpr" in head or b"consteval" in head:
                return
        if node.type in _LOOPS and (body := node.child_by_field_name("body")) is not None:
            # The test by which an interrupt ends the cell.
            if body.type == "compound_statement":
                self.insertions.append((body.start_byte + 1, b" ::tessera_notebook::check();"))
            elif body.type == "expression_statement" and body.start_byte == body.end_byte - 1:
                self.insertions.append((body.start_byte, b"::tessera_notebook::check()"))
            else:
                self.insertions += [(body.start_byte, b"{ ::tessera_notebook::check(); "), (body.end_byte, b" }")]
        if node.type == "lambda_capture_specifier":
            # A cell's variable has static storage, which a plain capture may not name.
            for k, child in enumerate(node.children):
                if child.type == "identifier" and child.text and not self._initialised(node, k):
                    self.insertions.append((child.end_byte, b" = " + child.text))
        if node.type == "decltype" and any(c.type == "identifier" and c.text.decode() in self.variables for c in node.named_children):
            # The names of variables are references to their memory.
            self.insertions += [(node.start_byte, b"std::remove_reference_t<"), (node.end_byte, b">")]
        for child in node.children:
            self._walk(child)

    @staticmethod
    def _initialised(node, k):
        following = node.children[k + 1] if k + 1 < len(node.children) else None
        return following is not None and following.type in ("=", "...")

    def blank(self, node):
        self.blanked.append((node.start_byte, node.end_byte))

    def text(self, begin, end):
        out, at = [], begin
        for position, inserted in self.insertions:
            if begin <= position <= end and not (position == end and inserted.startswith(b"{")):
                out += [self._piece(at, position), inserted]
                at = position
        out.append(self._piece(at, end))
        return b"".join(out).decode()

    def _piece(self, begin, end):
        piece = bytearray(self.source[begin:end])
        for b, e in self.blanked:
            for k in range(max(b, begin), min(e, end)):
                piece[k - begin] = 32
        return bytes(piece)
