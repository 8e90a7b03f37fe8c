"""What the cells have defined so far, and the C++ source of the next one.

Each cell becomes a shared object. Everything that it defines lies in an inline namespace of its own, `notebook::cell_3`, so that a later
definition of the same name has another symbol. A later cell repeats the definitions that it uses, directly or through others:

  types, templates, inline functions   the text
  functions                            the declaration
  variables                            a reference to their memory, which lies in the object of their cell

A variable with a deduced type gets its value from an inline function, `inline auto init() { return EXPRESSION; }`. Where the type has no
name, because a lambda is a part of it, later cells repeat that function: its lambdas are the same types in all objects. Otherwise they
use the name that the compiler has for the type.
"""
import dataclasses
import re

from .grammar import unreadable, words
from .splitter import Part, Splitter, directives

# A type that can be written in a later cell.
_NAMED_TYPE = re.compile(r"[\w:<>, &*]+$")


@dataclasses.dataclass
class Known:
    """A definition of an earlier cell."""
    kind: str
    cell: int
    line: int
    names: tuple
    key: str
    order: int
    text: str            # what later cells repeat
    words: frozenset
    always: bool = False
    outside: str = ""    # "": in the cell's namespace; "notebook"; "global"
    type: str = ""       # of variables
    stale: str = ""      # why it cannot be used any more
    stage: int = 0       # the shared object that defines it


@dataclasses.dataclass
class Stage:
    """A shared object. A cell has several if a reference is defined in it and used behind that."""
    number: int
    source: str
    parts: list


class StaleName(Exception):
    """A name whose definition depends on something that was defined anew."""


def line_of(part_line, label, text):
    return f'#line {part_line} "{label}"\n{text}\n'


def nice_type(name):
    """A type as it is demangled, for use as source; empty if that is not possible, as for closures and local classes."""
    return name if _NAMED_TYPE.match(name) else ""


class Program:
    def __init__(self):
        self.known = []
        self.order = 0
        self.stage = 0

    def variables(self):
        return {n for k in self.known if k.kind == "variable" for n in k.names}

    def names(self):
        return sorted({n for k in self.known for n in k.names if n})

    # The parts of a cell.
    def split(self, text):
        """The parts of a cell, and a remark if the grammar could not read it and all of it is taken as statements."""
        if unreadable(text):
            found, rest = directives(text)
            return found + [Part("statement", rest, 1)], True
        templates = {n for k in self.known if k.kind == "template" and k.key.startswith("type ") for n in k.names}
        return Splitter(text, self.variables(), templates).parts(), False

    def stages(self, parts):
        """The parts in groups. One ends behind each reference, whose target has to be known before other parts are loaded, and one before a
        variable if parts before it use an earlier variable of its name."""
        groups, group, earlier = [], [], self.variables()
        for k, part in enumerate(parts):
            if part.variable is not None and group and earlier & set(part.names) & set().union(*(p.words for p in group)):
                groups.append(group)
                group = []
            group.append(part)
            if part.variable is not None and part.variable.form == "reference" and k + 1 < len(parts):
                groups.append(group)
                group = []
        return groups + [group] if group or not groups else groups

    # The source of a stage.
    def source(self, parts, cell, label):
        self.stage += 1
        number = self.stage
        parts = [p for p in parts if not self._same(p)]
        needed = set().union(*(p.words for p in parts)) if parts else set()
        here = {n for p in parts for n in p.names if not (p.variable is not None and p.variable.earlier)}
        keys = {p.key for p in parts if p.key and not (p.variable is not None and p.variable.earlier)}
        out = ["// Made by the kernel from a cell."]
        prelude, directives = self._prelude(needed, here, keys)
        own_directives = [p for p in parts if p.kind == "directive"]
        for known in directives:
            out.append(line_of(known.line, f"cell {known.cell}", known.text))
        out += [line_of(p.line, label, p.text) for p in own_directives]
        out.append("using namespace notebook;")
        for known in prelude:
            body = line_of(known.line, f"cell {known.cell}", known.text)
            if known.outside == "global":
                out.append(body)
            elif known.outside == "notebook":
                out.append(f"namespace notebook {{\n{body}}}")
            else:
                out.append(f"namespace notebook {{ inline namespace stage_{known.stage} {{\n{body}}} }}")
        run = []
        for part in parts:
            outer, inner = self._part(part, label, number)
            out += outer
            run += inner
        body = "".join(run)
        out.append(f"namespace notebook {{ inline namespace stage_{number} {{\nvoid run_cell() {{\n{body}\n}}\n}} }}\n"
                   f'extern "C" void tessera_notebook_cell() {{ notebook::stage_{number}::run_cell(); }}')
        return Stage(number, "\n".join(out) + "\n", parts)

    def _part(self, part, label, number):
        """What stands in the source outside of the function that runs, and inside of it."""
        inside = f"namespace notebook {{ inline namespace stage_{number} {{\n"
        text = line_of(part.line, label, part.text)
        if part.kind == "directive":
            return [], []
        if part.kind in ("using", "member"):
            return [f"namespace notebook {{\n{text}}}"], []
        if part.kind == "special":
            return [text], []
        if part.kind in ("type", "template", "function"):
            return [f"{inside}{text}}} }}"], []
        if part.kind == "variable":
            defined, run = self._variable(part, label)
            return [f"{inside}{defined}}} }}"], [run]
        if part.last:
            return [], [line_of(part.line, label, part.text).replace("#line", "(\n#line", 1) + "), ::tessera_notebook::Last{};\n"]
        return [], [text]

    def _variable(self, part, label):
        v, name = part.variable, part.names[0]
        if v.form == "typed":
            slot = f"tessera_slot_{name}"
            members = line_of(part.line, label, v.members)
            text = f"struct tessera_members_{name} {{\n{members}}};\n::tessera_notebook::Slot<tessera_members_{name}> {slot};\n"
            text += "".join(f"static auto& {n} = {slot}.value.{n};\n" for n in part.names)
            run = f'::tessera_notebook::construct_members("{",".join(part.names)}", {slot});\n'
            return text, line_of(part.line, label, run)
        text = self._initial(part, label) + f"::tessera_notebook::Slot<decltype(tessera_initial_{name}())> tessera_slot_{name};\n"
        text += self._refer(part)
        run = f'::tessera_notebook::construct("{",".join(part.names)}", tessera_slot_{name}, [&]() -> decltype(auto) ' \
              f"{{ return tessera_initial_{name}(); }});\n"
        return text, line_of(part.line, label, run)

    @staticmethod
    def _initial(part, label):
        v, name = part.variable, part.names[0]
        if v.form == "reference":
            head, tail = f"inline decltype(auto) tessera_initial_{name}() {{\nreturn (", ");\n}\n"
            return head + "\n" + line_of(v.line, label, v.value) + tail
        return f"inline auto tessera_initial_{name}() {{\nreturn\n" + line_of(v.line, label, v.value) + ";\n}\n"

    @staticmethod
    def _refer(part):
        v, name = part.variable, part.names[0]
        const = "const " if v.const else ""
        if v.form == "binding":
            return f"static {const}auto& [{', '.join(part.names)}] = tessera_slot_{name}.value;\n"
        if v.form == "reference":
            return ""  # known when the cell's stage has run
        return f"static {const}auto& {name} = tessera_slot_{name}.value;\n"

    # What is repeated.
    def _prelude(self, needed, here, keys):
        """The definitions that a text with these words needs, those before others that they depend on."""
        visible = [k for k in self.known if k.key not in keys and not set(k.names) & here]
        by_name = {}
        for known in visible:
            for name in known.names:
                by_name.setdefault(name, []).append(known)
        chosen, queue = [], list(needed)
        seen = set()

        def take(known):
            if any(known is c for c in chosen):
                return
            if known.stale:
                raise StaleName(known.stale)
            chosen.append(known)
            queue.extend(known.words)

        # A using-directive of the library stands before everything; one of a namespace of a cell behind that.
        usings = [k for k in self.known if k.kind == "using" and k.key not in keys and not k.stale]
        first = [k for k in usings if not k.words & set(by_name)]
        for known in usings:
            if known.words & set(by_name):
                take(known)
        while True:
            while queue:
                word = queue.pop()
                if word in seen:
                    continue
                seen.add(word)
                for known in by_name.get(word, ()):
                    take(known)
            names = set(by_name)
            more = [k for k in visible if k.always and not k.stale and not any(k is c for c in chosen)
                    and k.words & names <= seen]
            for known in more:
                take(known)
            if not more and not queue:
                break
        found = [k for k in self.known if k.kind == "directive" and k.key not in keys]
        return first + _by_dependency([k for k in chosen if k.kind != "directive"]), found

    def _same(self, part):
        """Whether a definition repeats the known one, as in a cell that is run again. Types then stay the same types."""
        return part.kind in ("type", "template", "special", "directive", "using") and any(
            k.key == part.key and k.text.split() == part.text.split() and not k.stale for k in self.known)

    # What a cell leaves behind.
    def keep(self, part, cell, label, number, types):
        """Adds the definition of a part of a cell that was loaded. `types` has the type of each variable that got its value."""
        if part.kind in ("statement", "member") or self._same(part) or (part.kind == "variable" and ",".join(part.names) not in types):
            return
        text, outside, type_name = part.text, "", ""
        if part.kind == "function":
            text = part.declared
        elif part.kind == "using":
            outside = "notebook"
        elif part.kind == "special":
            outside = "global"
        elif part.kind == "variable":
            text, type_name = self._later(part, label, types[",".join(part.names)])
        known = Known(part.kind, cell, part.line, part.names, part.key, 0, text, frozenset(words(text)) - set(part.names),
                      part.always, outside, type_name)
        known.stage = number
        self._replace(known)
        self.order += 1
        known.order = self.order
        self.known.append(known)

    def _later(self, part, label, type_name):
        """How later cells see a variable, and its type."""
        v, name = part.variable, part.names[0]
        slot = f"tessera_slot_{name}"
        const = "const " if v.const else ""
        if v.form == "typed":
            text = f"struct tessera_members_{name} {{ {v.bare_members} }};\nextern ::tessera_notebook::Slot<tessera_members_{name}> {slot};\n"
            return text + "".join(f"static auto& {n} = {slot}.value.{n};\n" for n in part.names), v.bare_members
        spelled = nice_type(type_name)
        if spelled:
            text = f"extern ::tessera_notebook::Slot<{spelled}> {slot};\n"
        else:
            text = self._initial(part, label) + f"extern ::tessera_notebook::Slot<decltype(tessera_initial_{name}())> {slot};\n"
        if v.form == "reference":
            value = f"{slot}.pointer" if type_name.endswith("&") else f"&{slot}.value"
            return text + f"static {const if not type_name.endswith('&') else ''}auto& {name} = *{value};\n", type_name
        return text + self._refer(part), spelled or v.value

    def _replace(self, new):
        """Removes what a new definition replaces. What depends on a replaced type can no longer be used."""
        gone = []
        for known in self.known:
            if known.key == new.key or (set(known.names) & set(new.names) and not (known.cell == new.cell and _overloads(known) and _overloads(new))):
                gone.append(known)
        self.known = [k for k in self.known if not any(k is g for g in gone)]
        for old in gone:
            changed = old.kind in ("type", "template") and old.text != new.text or old.kind == "variable" and old.type != new.type
            if changed and not old.key.startswith("declared "):
                self._make_stale(set(old.names), old.names[0] if old.names else "", new.cell)

    def _make_stale(self, names, cause, cell):
        for known in self.known:
            if known.names and known.words & names and not known.stale:
                known.stale = (f"`{known.names[0]}` was defined in cell {known.cell} with an earlier `{cause}`, which cell {cell} defines anew. "
                               f"Run cell {known.cell} again.")
                self._make_stale(set(known.names), known.names[0], cell)


def _overloads(definition):
    """Whether other functions of the same cell may have the same name."""
    return definition.key.startswith(("function ", "declared "))


def _by_dependency(chosen):
    """In the order of definition, except that what a text uses stands before it."""
    chosen = sorted(chosen, key=lambda k: k.order)
    by_name = {}
    for known in chosen:
        for name in known.names:
            by_name.setdefault(name, []).append(known)
    done, out = set(), []

    def visit(known):
        if id(known) in done:
            return
        done.add(id(known))
        for word in sorted(known.words):
            for other in by_name.get(word, ()):
                visit(other)
        out.append(known)

    for known in chosen:
        visit(known)
    return out
