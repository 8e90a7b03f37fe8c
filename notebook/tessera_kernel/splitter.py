"""Splits the text of a cell into its top-level parts, with the grammar of tree-sitter.

The grammar knows C++'s syntax but no types, so a few texts have two readings. `T x(y);` is read as a variable if y is a variable, and as
the declaration of a function otherwise; `a * b;` is a product if a is a variable. A cell is read as the body of a function, where the grammar knows
all statements, and functions too.
"""
import dataclasses
import re

from .grammar import BEFORE, BEHIND, Edits, parse, words

_TYPES = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")
# Class templates whose arguments are often deduced, which a member of a class may not do.
_DEDUCED = re.compile(r"std::(pair|tuple|vector|array|optional|function|map|set|span)$")


class NotSupported(Exception):
    """Something that a cell may not hold. The text says what to write instead; `line` counts from 1."""

    def __init__(self, text, line):
        super().__init__(text)
        self.line = line


@dataclasses.dataclass
class Part:
    """A top-level part of a cell.

    kind is one of
      directive   #include, #define: repeated at the beginning of later cells
      using       a using-directive, a using-declaration or an alias of a namespace
      type        a class, an enum or an alias: repeated
      template    a template, or a function that later cells need with its body: repeated
      function    defined once; later cells get `declared`
      member      a function of a class that is defined outside of it
      special     a specialisation: repeated outside of the cell's namespace
      variable    see `Variable`
      statement   run in order
    """
    kind: str
    text: str            # with the column of its first character kept by spaces in front
    line: int
    names: tuple = ()
    key: str = ""        # a later part with the same key replaces it
    declared: str = ""   # of functions: the declaration
    always: bool = False  # found without being named: an operator, a specialisation
    last: bool = False   # of statements: an expression whose value is displayed
    variable: object = None

    @property
    def words(self):
        return words(self.text)


@dataclasses.dataclass
class Variable:
    """How a variable is defined: `auto` ones by a function that returns their first value, others as members of a class."""
    form: str        # "auto", "binding", "reference", "typed"
    value: str = ""  # the expression, for the first three
    members: str = ""       # for "typed": declarations of members with their first values ...
    bare_members: str = ""  # ... and without
    const: bool = False
    line: int = 1  # of the value
    earlier: bool = False  # the value uses the variable of the same name of an earlier cell


def directives(text):
    """The preprocessor's lines of a text that the grammar cannot read, as parts, and the text with empty lines in their place."""
    found = []

    def taken(m):
        name = re.match(r"\s*#\s*define\s+(\w+)", m[0])
        key = f"macro {name[1]}" if name else m[0]
        found.append(Part("directive", m[0], text.count("\n", 0, m.start()) + 1, (name[1],) if name else (), key))
        return "\n" * m[0].count("\n")
    rest = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", taken, text, flags=re.M)
    return found, rest


class Splitter:
    def __init__(self, text, variables=(), templates=()):
        """`variables` and `templates` are the names of variables and class templates of earlier cells."""
        self.templates = set(templates)
        self.variables, self.earlier = set(variables), set(variables)
        self.source = BEFORE + text.encode() + BEHIND
        self.root = parse(text)
        here = {n for node in self.root.named_children if node.type == "declaration"
                for d in node.children_by_field_name("declarator") for n in self._names(d)}
        self.edits = Edits(self.source, self.root, self.variables | here)
        self.end = len(BEFORE) + len(text.encode())

    def parts(self):
        found = []
        nodes = [n for n in self.root.named_children if n.type != "comment"]
        for k, node in enumerate(nodes):
            if node.type == "expression_statement" and node.end_byte - node.start_byte == 1:
                continue  # an empty statement
            found += self._part(node)
        if found and found[-1].kind == "statement":
            node = nodes[-1] if nodes[-1].end_byte > self.end else None
            found[-1].last = node is not None and node.type in ("expression_statement", "declaration") and node.start_byte < self.end
            if found[-1].last:
                found[-1].text = found[-1].text.rstrip().removesuffix(";")
        return found

    # Positions and texts.
    def _text(self, node, end=None):
        return self._range(node.start_byte, node.end_byte if end is None else end)

    def _range(self, begin, end):
        column = begin - (self.source.rfind(b"\n", 0, begin) + 1)
        return " " * column + self.edits.text(begin, end)

    def _raw(self, node):
        return node.text.decode() if node is not None else ""

    def _make(self, kind, node, **more):
        return Part(kind, self._text(node), node.start_point[0], **more)

    def _part(self, node):
        kind = node.type
        if kind.startswith("preproc_"):
            return [self._directive(node)]
        if kind in ("using_declaration", "namespace_alias_definition"):
            return [self._make("using", node, key=" ".join(self._raw(node).split()))]
        if kind in _TYPES:
            name = self._raw(node.child_by_field_name("name"))
            if node.child_by_field_name("body") is None:
                return [Part("type", self._text(node) + ";", node.start_point[0], (name,), f"declared {name}")]
            if node.child_by_field_name("name") is not None and node.child_by_field_name("name").type == "qualified_identifier":
                return [Part("special", self._text(node) + ";", node.start_point[0], always=True, key=self._raw(node))]
            names = (name,) + self._enumerators(node)
            return [Part("type", self._text(node) + ";", node.start_point[0], tuple(n for n in names if n), f"type {name}")]
        if kind in ("alias_declaration", "type_definition", "concept_definition"):
            name = self._declared_name(node)
            return [self._make("type", node, names=(name,), key=f"type {name}")]
        if kind in ("static_assert_declaration",):
            return [self._make("statement", node)]
        if kind == "template_declaration":
            return [self._template(node)]
        if kind == "function_definition":
            return [self._function(node)]
        if kind == "namespace_definition":
            return [self._namespace(node)]
        if kind in ("template_instantiation", "linkage_specification"):
            return [self._make("special", node, key=self._raw(node), always=True)]
        if kind == "declaration":
            return self._declaration(node)
        return [self._make("statement", node)]

    def _directive(self, node):
        text = self.edits.text(node.start_byte, node.end_byte).rstrip("\n")
        name = self._raw(node.child_by_field_name("name"))
        if node.type in ("preproc_def", "preproc_function_def"):
            return Part("directive", text, node.start_point[0], (name,), f"macro {name}")
        return Part("directive", text, node.start_point[0], (), text)

    def _enumerators(self, node):
        if node.type != "enum_specifier" or any(c.type in ("class", "struct") for c in node.children):
            return ()
        body = node.child_by_field_name("body")
        return tuple(self._raw(c.child_by_field_name("name")) for c in body.children if c.type == "enumerator")

    def _declared_name(self, node):
        name = node.child_by_field_name("name")
        if name is None:  # a typedef
            name = node.child_by_field_name("declarator")
            while name is not None and name.type not in ("type_identifier", "identifier"):
                name = name.child_by_field_name("declarator")
        return self._raw(name)

    # Functions and templates.
    def _function_declarator(self, node):
        found = node.child_by_field_name("declarator")
        while found is not None and found.type != "function_declarator":
            inner = found.child_by_field_name("declarator")
            found = inner if inner is not None else next((c for c in found.children if c.type.endswith("declarator")), None)
        return found

    def _parameters(self, declarator):
        """The types of the parameters, as texts without names and defaults."""
        found = []
        for parameter in declarator.child_by_field_name("parameters").named_children:
            if parameter.type == "comment":
                continue
            default = parameter.child_by_field_name("default_value")
            end = default.start_byte if default is not None else parameter.end_byte
            name = parameter.child_by_field_name("declarator")
            while name is not None and name.type not in ("identifier",):
                inner = name.child_by_field_name("declarator")
                name = inner if inner is not None else next((c for c in name.children if c.type.endswith(("declarator", "identifier"))), None)
            text = self.source[parameter.start_byte:end]
            if name is not None:
                text = self.source[parameter.start_byte:name.start_byte] + self.source[name.end_byte:end]
            found.append(re.sub(r"\s+|=\s*$", "", text.decode()))
        return ",".join(found)

    def _function(self, node):
        line = node.start_point[0]
        body = node.child_by_field_name("body")
        declarator = self._function_declarator(node)
        if declarator is None or body is None:
            return self._make("template", node, always=True, key=self._raw(node))
        name_node = declarator.child_by_field_name("declarator")
        name = self._raw(name_node)
        specifiers = [c for c in node.children if c.type in ("storage_class_specifier", "type_qualifier", "attribute_declaration")]
        texts = {self._raw(c) for c in specifiers}
        for c in specifiers:
            if self._raw(c) == "static":
                self.edits.blank(c)
        if name_node.type in ("qualified_identifier", "template_function"):
            return self._make("member", node, key=name + "(" + self._parameters(declarator) + ")")
        operator = name_node.type == "operator_name"
        key = f"function {name}({self._parameters(declarator)})"
        type_node = node.child_by_field_name("type")
        deduced = type_node is not None and type_node.type == "placeholder_type_specifier" and not any(
            c.type == "trailing_return_type" for c in declarator.children)
        generic = any(p.child_by_field_name("type") is not None and p.child_by_field_name("type").type == "placeholder_type_specifier"
                      for p in declarator.child_by_field_name("parameters").named_children)
        names = () if operator else (name,)
        if deduced or generic or texts & {"inline", "constexpr", "consteval"}:
            part = self._make("template", node, names=names, key=key, always=operator)
            if not texts & {"inline", "constexpr", "consteval"} and not generic:
                part.text = "inline" + part.text[6:] if part.text.startswith(" " * 6) else "inline " + part.text
            return part
        declared = self._range(node.start_byte, body.start_byte).rstrip() + ";"
        return Part("function", self._text(node), line, names, key, declared, always=operator)

    def _template(self, node):
        inner = node.named_children[-1]
        name, key, always, kind = "", self._raw(node), False, "template"
        empty = node.child_by_field_name("parameters") is not None and not node.child_by_field_name("parameters").named_children
        if inner.type in _TYPES:
            name_node = inner.child_by_field_name("name")
            name = self._raw(name_node)
            if empty or name_node.type != "type_identifier":
                kind, always, name = ("special" if b"::" in name_node.text or empty else "template"), True, ""
            else:
                key = f"type {name}"
                self.templates.add(name)
        elif inner.type in ("alias_declaration", "concept_definition"):
            name = self._declared_name(inner)
            key = f"type {name}"
        elif inner.type in ("function_definition", "declaration"):
            declarator = self._function_declarator(inner)
            if declarator is not None:
                name_node = declarator.child_by_field_name("declarator")
                name = self._raw(name_node)
                if empty or name_node.type in ("qualified_identifier", "template_function"):
                    kind, always, name = ("special" if empty else "member"), True, ""
                elif name_node.type == "operator_name":
                    always, name = True, ""
                else:
                    key = f"function {name}<>({self._parameters(declarator)})"
            elif (d := inner.child_by_field_name("declarator")) is not None:  # a variable template
                name = self._raw(d.child_by_field_name("declarator") or d)
                key = f"type {name}"
        text = self._text(node)
        if inner.type in _TYPES and not text.rstrip().endswith(";"):
            text += ";"
        return Part(kind, text, node.start_point[0], (name,) if name else (), key, always=always)

    def _namespace(self, node):
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None else ():
            if child.type == "declaration" and self._function_declarator(child) is None and b"constexpr" not in child.text:
                raise NotSupported("a variable inside a namespace is initialised again by every later cell. "
                                   "Define it outside of the namespace, or make it constexpr", child.start_point[0])
        found = set()
        for child in body.named_children if body is not None else ():
            if child.type in (*_TYPES, "function_definition", "template_declaration"):
                found |= {n for p in self._part(child) for n in p.names}
        name = self._raw(node.child_by_field_name("name"))
        return self._make("template", node, names=tuple(n for n in {name, *found} if n), key=f"namespace {self._raw(node)}")

    # Variables.
    def _declaration(self, node):
        line = node.start_point[0]
        qualifiers = [c for c in node.children if c.type in ("type_qualifier", "storage_class_specifier", "attribute_declaration")]
        texts = [self._raw(c) for c in qualifiers]
        declarators = node.children_by_field_name("declarator")
        type_node = node.child_by_field_name("type")
        if "thread_local" in texts:
            raise NotSupported("a cell's variables belong to all threads; define a thread_local variable inside of a function", line)
        if "extern" in texts:
            return [self._make("template", node, names=tuple(self._name(d) for d in declarators), key=self._raw(node))]
        if type_node is not None and type_node.type in _TYPES and type_node.child_by_field_name("body") is not None:
            raise NotSupported("a class and a variable are defined at once. Define the class first, and the variable after it", line)
        if type_node is not None and self._raw(type_node) in self.variables:
            return [self._make("statement", node)]  # a product, `a * b`
        if any(self._qualified(d) for d in declarators):
            return [self._make("member", node, key=self._raw(node))]
        if self._is_prototype(node, declarators):
            declarator = self._function_declarator(node)
            name = self._raw(declarator.child_by_field_name("declarator"))
            return [self._make("template", node, names=(name,), key=f"declared {name}({self._parameters(declarator)})")]
        names = tuple(n for d in declarators for n in self._names(d))
        if "constexpr" in texts or "constinit" in texts:
            text = self._text(node)
            return [Part("template", "inline " + text.lstrip() if "inline" not in texts else text, line, names, "variable " + ",".join(names))]
        self.variables |= set(names)
        part = Part("variable", self._text(node), line, names, "variable " + ",".join(names))
        values = [d.child_by_field_name("value") for d in declarators if d.type == "init_declarator"]
        again = self.earlier & set(names) & set().union(*(words(self._raw(v)) for v in values))
        part.variable = self._variable(node, qualifiers, type_node, declarators, line, bool(again))
        part.variable.earlier = bool(again)
        self.earlier -= set(names)
        return [part]

    def _qualified(self, declarator):
        """Whether a declarator names a member of a class, as in `int A::made = 4;`."""
        while declarator is not None and declarator.type != "qualified_identifier":
            declarator = declarator.child_by_field_name("declarator")
        return declarator is not None

    def _name(self, declarator):
        return (self._names(declarator) or ("",))[0]

    def _names(self, declarator):
        if declarator.type == "identifier":
            return (self._raw(declarator),)
        if declarator.type == "structured_binding_declarator":
            return tuple(self._raw(c) for c in declarator.named_children if c.type == "identifier")
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in declarator.named_children if c.type.endswith(("declarator", "identifier"))), None)
        return self._names(inner) if inner is not None else ()

    def _is_prototype(self, node, declarators):
        if len(declarators) != 1 or declarators[0].type == "init_declarator":
            return False
        declarator = self._function_declarator(node)
        if declarator is None or declarator.child_by_field_name("declarator").type == "parenthesized_declarator":
            return False
        parameters = declarator.child_by_field_name("parameters").named_children
        # `T x(y);` names a variable where a type would have to be.
        return not parameters or not all(self._raw(p) in self.variables for p in parameters)

    def _variable(self, node, qualifiers, type_node, declarators, line, again):
        const = any(self._raw(q) == "const" for q in qualifiers)
        first = declarators[0]
        value = first.child_by_field_name("value") if first.type == "init_declarator" else None
        inner = first.child_by_field_name("declarator") if first.type == "init_declarator" else first
        placeholder = type_node is not None and type_node.type == "placeholder_type_specifier"
        if placeholder or self._deduced(type_node):
            if inner.type == "function_declarator" and not placeholder and len(declarators) == 1:  # T x(y), where y is a variable
                return Variable("auto", self._type(type_node) + self._raw(inner.child_by_field_name("parameters")), const=const, line=line)
            if len(declarators) != 1 or value is None:
                raise NotSupported("each variable with a deduced type needs a declaration of its own, with a value", line)
            expression = self._value(value)
            if not placeholder:
                opening = "" if expression.lstrip().startswith(("{", "(")) else "("
                expression = self._raw(type_node) + (opening + expression + ")" if opening else expression.lstrip())
            elif value.type == "argument_list" or value.type == "initializer_list":
                expression = expression.replace("{", " ", 1)[::-1].replace("}", " ", 1)[::-1] if value.type == "initializer_list" else expression
            if inner.type == "reference_declarator":
                form = "reference"
            elif inner.type == "structured_binding_declarator":
                form = "binding"
            else:
                form = "auto"
            if form == "reference" and any(c.type == "structured_binding_declarator" for c in inner.children):
                if not const and not self._raw(inner).startswith("&&"):
                    raise NotSupported("a structured binding to references is not supported in a cell. Write `auto [a, b] = ...`, "
                                       "which copies, or do it inside of a function", line)
                form = "binding"
            return Variable(form, expression, const=const, line=value.start_point[0])
        if any((d.child_by_field_name("declarator") or d).type == "reference_declarator" or d.type == "reference_declarator" for d in declarators):
            if len(declarators) != 1 or value is None:
                raise NotSupported("each reference needs a declaration of its own, with a value", line)
            return Variable("reference", self._value(value), const=const, line=value.start_point[0])
        if again:
            # A member's first value would find the member, and not the earlier variable.
            if len(declarators) != 1 or value is None or inner.type != "identifier":
                raise NotSupported("a variable whose value uses an earlier one of the same name needs a declaration of its own", line)
            expression = self._value(value).lstrip()
            bracketed = expression if value.type in ("argument_list", "initializer_list") else f"({expression})"
            return Variable("auto", self._type(type_node) + bracketed, const=const, line=value.start_point[0])
        members, bare = [], []
        prefix = " ".join(self._raw(q) for q in qualifiers if self._raw(q) not in ("static", "inline"))
        spelled = f"{prefix} {self._type(type_node)}".strip()
        for d in declarators:
            members.append(self._member(spelled, type_node, d))
            shape = d.child_by_field_name("declarator") if d.type == "init_declarator" else d
            if shape.type == "function_declarator":  # T x(y), where y is a variable
                shape = shape.child_by_field_name("declarator")
            bare.append(f"{spelled} {self._raw(shape)};")
        return Variable("typed", members="\n".join(members), bare_members=" ".join(bare), const=const)

    def _deduced(self, type_node):
        """Whether a type is a class template whose arguments are deduced."""
        text = self._raw(type_node)
        return bool(_DEDUCED.search(text)) or text in self.templates

    def _type(self, node):
        return self.edits.text(node.start_byte, node.end_byte)

    def _value(self, node):
        return self._range(node.start_byte, node.end_byte)

    def _member(self, spelled, type_node, d):
        """The declaration of a member with its first value."""
        if d.type == "function_declarator":
            arguments = self._raw(d.child_by_field_name("parameters"))
            return f"{spelled} {self._raw(d.child_by_field_name('declarator'))} = {self._type(type_node)}{arguments};"
        if d.type != "init_declarator":
            return f"{spelled} {self._raw(d)};"
        value = d.child_by_field_name("value")
        name = self._raw(d.child_by_field_name("declarator"))
        text = self.edits.text(value.start_byte, value.end_byte)
        if value.type == "argument_list":
            return f"{spelled} {name} = {self._type(type_node)}{text};"
        assigned = b"=" in self.source[d.child_by_field_name("declarator").end_byte:value.start_byte]
        return f"{spelled} {name} {'= ' if assigned else ''}{text};"
