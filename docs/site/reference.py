"""Writes the pages of the reference from Doxygen's XML and the comments of the headers: write(ROOT, XML, PAGES).

The XML says which public names there are, of what kind and where, and how the functions look that macros declare. A comment is taken from
the header, because the comments are not written in Doxygen's markup (`x < y`, `#`, `@main`). There is a page for each header, with a section
for each name and its overloads, one page of topics, and one of all names."""
import collections
import pathlib
import re
import textwrap
import xml.etree.ElementTree as ET

import headers
import prose

MODULES = {"jnp": "jax.numpy.", "linalg": "jax.numpy.linalg.", "fft": "jax.numpy.fft.", "lax": "jax.lax.", "jax": "jax.", "tree": "jax.tree.",
           "nn": "jax.nn.", "initializers": "jax.nn.initializers.", "random": "jax.random.", "scipy": "jax.scipy: ", "scipy_linalg": "jax.scipy.linalg.",
           "optax": "optax.", "flax": "Flax: ", "orbax": "Orbax: ", "array": "jax.Array."}
# The page of a public name that an internal header has.
HOME = {"tessera/detail/walk.h": "tessera/tree.h"}
LOCATION = re.compile(r",?\s*(const )?(std::source_location|SourceLoc)&? (loc|where|location)\s*=\s*(std::source_location::current\(\)|\{\})")


def from_doxygen(xml):
    """{full name: [(kind, header, line, declaration, base classes)]} of what Doxygen finds."""
    found = {}
    for path in sorted(pathlib.Path(xml).glob("*.xml")):
        for compound in ET.parse(path).getroot().findall("compounddef"):
            name, kind = compound.findtext("compoundname"), compound.get("kind")
            if kind not in ("namespace", "class", "struct", "union", "concept") or not re.match(r"tessera(::|$)", name) or "detail" in name.split("::"):
                continue
            scope = "::".join(name.split("::")[1:])
            at = compound.find("location")
            if kind != "namespace" and compound.get("prot", "public") == "public":
                bases = [b.text for b in compound.findall("basecompoundref") if b.get("prot") == "public"]
                found.setdefault(scope, []).append(("class", at.get("file"), int(at.get("line")), "", bases))
            for m in compound.iter("memberdef"):
                if m.get("prot") == "public":
                    place = m.find("location")
                    shown = f"{m.findtext('definition')}{m.findtext('argsstring') or ''}".replace("tessera::", "")
                    full = f"{scope}::{m.findtext('name')}" if scope else m.findtext("name")
                    found.setdefault(full, []).append((m.get("kind"), place.get("file"), int(place.get("line")), shown, []))
                    for e in m.findall("enumvalue"):
                        found.setdefault(f"{full}::{e.findtext('name')}", []).append(("enumvalue", place.get("file"), int(place.get("line")), "", []))
    return found


def disagreements(declared, doxygen):
    """The names that only one of the two readers of the headers has, but for kinds that one of them does not know."""
    mine = {d.full for d in declared}
    only = [f"{name} ({entry[0][1]}:{entry[0][2]}) is found by Doxygen only" for name, entry in sorted(doxygen.items())
            if name not in mine and not re.search(r"operator|tessera_function|TESSERA_\w+_$|(\w+Error)::Error$|detail", name) and entry[0][0] != "friend"]
    only += [f"{d.full} ({d.header}:{d.line}) is found by headers.py only" for d in declared
             if d.full not in doxygen and d.kind not in ("macro", "concept") and "operator" not in d.name
             and not (d.kind == "alias" and d.text.lstrip().startswith("using") and "=" not in d.text)]
    return only


def home(d):
    return HOME.get(d.header, d.header)


SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "over", "%": "modulo", "=": "equals", "!": "not", "<": "less", ">": "greater", "&": "and", "|": "or",
         "^": "xor", "~": "complement", "(": "call", "[": "index", ")": "", "]": ""}


def anchor(name):
    """The id of a name in its page; operators have their signs as words."""
    name = re.sub(r"operator(?=\W)(\W+)$", lambda m: "operator-" + "-".join(filter(None, (SIGNS.get(c, "") for c in m[1]))), name)
    return re.sub(r"\W+", "-", name.replace("~", "not-")).strip("-")


def wrapped(text):
    """A declaration on one line, or broken behind commas."""
    text = " ".join(text.split())
    if len(text) <= 88:
        return text
    head, out = text, []
    if m := re.match(r"template <.*?>(?= \w|\n| requires)", text):
        depth = headers.balanced(text, text.index("<"), "<", ">")
        out, head = [text[:depth]], text[depth:].strip()
    return "\n".join(out + textwrap.wrap(head, 88, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))


def signature(d, doxygen):
    text = d.text
    if text.startswith("TESSERA_") and not text.startswith("TESSERA_API"):
        shown = {x[3] for x in doxygen.get(d.full, []) if x[3] and "BracedAxes" not in x[3] and "detail::" not in x[3]}
        return "\n".join(wrapped(re.sub(LOCATION, "", s)).replace("( ", "(") + ";" for s in sorted(shown, key=len))
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"\bTESSERA_API\s+|\binline (?=\w)|\[\[nodiscard\]\]\s+", "", text)
    text = re.sub(LOCATION, "", text)
    if d.kind == "function":
        text = re.sub(r"(\))\s*:\s*[\w:<>.]+[({].*", r"\1", text, flags=re.S)  # what a constructor initialises
    if d.kind == "function" and re.search(r"\brequires\s*\($", text):
        text += ")"
    return wrapped(re.sub(r"\(\s*,\s*", "(", text)) + ("" if d.kind == "class" else ";")


class Reference:
    def __init__(self, root, xml):
        self.root = pathlib.Path(root)
        self.doxygen = from_doxygen(xml)
        self.declared = headers.declarations(self.root / "include")
        self.shown = [d for d in self.declared if not d.unavailable and not d.name.startswith("~") and not d.full.startswith("debug::a_format_has")
                      and "detail::Named named" not in d.text]
        self.topics = [(t, h.split()) for t, h in (x.split("\t") for x in (self.root / "docs/site/topics.tsv").read_text().splitlines())]
        self.pages = {f"tessera/{h}.h": "indexing" if h == "index" else h for _, hs in self.topics for h in hs}
        unknown = {home(d) for d in self.shown} - set(self.pages)
        if unknown:
            raise SystemExit(f"docs/site/topics.tsv has no topic for {', '.join(sorted(unknown))}")
        self.where = {}
        for d in self.shown:
            self.where.setdefault(d.full, home(d))
        self.short = collections.defaultdict(set)
        for name in self.where:
            self.short[name.split("::")[-1]].add(name)
        self.theirs = self.counterparts()
        self.different = self.differences()

    def counterparts(self):
        found = collections.defaultdict(list)
        for path in sorted((self.root / "tests/names").glob("*.tsv")):
            for row in path.read_text().splitlines():
                theirs, ours, note = row.split("\t")
                for name in [] if note.startswith("written") else ours.split(","):
                    if name.strip():
                        found[name.strip()].append((MODULES[path.stem] + theirs, note))
        return found

    def differences(self):
        found = collections.defaultdict(list)
        heading = ""
        for line in (self.root / "docs/differences.md").read_text().splitlines():
            if line.startswith("## "):
                heading = re.sub(r"[^a-z0-9_ -]", "", line[3:].lower()).replace(" ", "-")
            elif m := re.match(r"\| `(\w+)` \|(.*)\|", line):
                for span in re.findall(r"`([^`]+)`", m[2].split(" | ")[0]):
                    for name in re.findall(r"(?<![\w.])(?:ts::)?((?:\w+::)*[a-z]\w{2,})(?=\(|$)", span):
                        if name in self.where and (m[1], heading) not in found[name]:
                            found[name].append((m[1], heading))
        return found

    def link(self, page, scope=""):
        """A function from names to addresses, as seen from a page and inside a scope."""
        up = "../" * (1 + page.count("/"))

        def address(name):
            parts = scope.split("::") if scope else []
            for k in range(len(parts), -1, -1):
                full = "::".join(parts[:k] + [name])
                if full in self.where:
                    break
            else:
                candidates = self.short.get(name, set()) if "::" not in name else set()
                if len(candidates) != 1 or len(name) < 5:
                    return None
                full = next(iter(candidates))
            return f"{up}reference/{self.pages[self.where[full]]}.md#{anchor(full)}"
        return address

    def source(self, page, d):
        up = "../" * (1 + page.count("/"))
        return f"[{d.header}:{d.line}]({up}source/include/{d.header}.md#L-{d.line})"

    def facts(self, page, name, group):
        """The line below the signatures: counterpart, differences, source."""
        up = "../" * (1 + page.count("/"))
        parts = []
        if name in self.theirs:
            parts.append("**JAX:** " + ", ".join(f"`{t}`" + (f" ({prose.inline(n, lambda _: None)})" if n else "") for t, n in self.theirs[name][:4]))
        if name in self.different:
            parts.append("**Differs:** " + ", ".join(f"[{row}]({up}differences.md#{at})" for row, at in self.different[name]))
        lines = [f"[{d.line}]({up}source/include/{d.header}.md#L-{d.line})" for d in group[1:4] if d.header == group[0].header]
        parts.append("**Source:** " + self.source(page, group[0]) + "".join(f", {x}" for x in lines))
        return " · ".join(parts) + "\n{ .facts }"

    def comments(self, page, group, scope):
        seen = []
        for d in group:
            if d.comment and d.comment not in seen:
                seen.append(d.comment)
        return "\n\n".join(prose.markdown(c, self.link(page, scope)) for c in seen)

    def section(self, page, name, group, level):
        d = group[0]
        kind = {"class": "struct" if re.search(r"\bstruct\b", d.text) else "class"}.get(d.kind, d.kind)
        code = "\n".join(dict.fromkeys(signature(x, self.doxygen) for x in group))
        bases = next((x[4] for x in self.doxygen.get(name, []) if x[4]), [])
        if bases and d.kind == "class" and ":" not in code.replace("::", ""):
            code += " : public " + ", ".join(b.replace("tessera::", "") for b in bases)
        if d.kind == "class" and code in (f"{kind} {d.name}", f"{kind} {name}"):
            code = ""
        parts = name.split("::")
        shown = f"{parts[-1]} constructors" if len(parts) > 1 and parts[-1] == parts[-2] else name
        shown = shown.replace("_", r"\_").replace("*", r"\*").replace("<", "&lt;").replace("[", r"\[")
        out = [f"{'#' * level} {shown} {{ #{anchor(name)} data-kind={kind} }}", code and f"```cpp\n{code}\n```", self.comments(page, group, name if d.kind == "class" else d.owner or d.scope),
               self.facts(page, name, group)]
        return "\n\n".join(x for x in out if x)

    def members(self, page, owner):
        """Sections of the members of a class or an enumeration."""
        own = [d for d in self.shown if d.owner == owner]
        out = []
        values = [d for d in own if d.kind in ("field", "enumerator")]
        if values:
            what = "value" if values[0].kind == "enumerator" else "field"
            rows = []
            for d in values:
                text = re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", d.text)).strip().rstrip(",")
                meaning = prose.markdown(d.comment, self.link(page, owner)).replace("\n", " ") if d.comment and "```" not in prose.markdown(d.comment, self.link(page, owner)) else ""
                declared = text if d.kind == "field" and sum(v.text == d.text for v in values) == 1 else d.name
                rows.append(f"| <span id=\"{anchor(d.full)}\"></span>`{declared.replace('|', '¦')}` | {meaning} |")
            out.append(f"| {what} | |\n|---|---|\n" + "\n".join(rows))
        groups = {}
        for d in own:
            if d.kind not in ("field", "enumerator", "class", "enum"):
                groups.setdefault(d.full, []).append(d)
        operators = {n: g for n, g in groups.items() if g[0].name.startswith("operator") and not any(d.comment for d in g)}
        for name, group in groups.items():
            if name not in operators:
                out.append(self.section(page, name, group, 4))
        if operators:
            code = "\n".join(dict.fromkeys(signature(d, self.doxygen) for g in operators.values() for d in g))
            out.append(f"```cpp\n{code}\n```")
        for d in own:
            if d.kind in ("class", "enum"):
                out += [self.section(page, d.full, [d], 4), *self.members(page, d.full)]
        return out

    def intro(self, header):
        text = (self.root / "include" / header).read_text().split("#pragma once")[0]
        return "\n".join(line[3:] for line in text.splitlines() if line.startswith("//"))

    def page(self, header):
        page, intro = self.pages[header], self.intro(header)
        title = header.removeprefix("tessera/").removesuffix(".h")
        out = [f"---\ntitle: {title}\nsearch:\n  boost: 1.5\n---\n\n# {title}", f"`#include <{header}>`\n{{ .include }}", prose.markdown(intro, self.link(page))]
        groups = {}
        for d in self.shown:
            if home(d) == header and not d.owner:
                groups.setdefault(d.full, []).append(d)
        if groups:
            out.append("## Names { #the-names }")
        for name, group in groups.items():
            if not any(self.where[name] == home(d) for d in group):
                continue
            out.append(self.section(page, name, group, 3))
            if group[0].kind in ("class", "enum"):
                out += self.members(page, name)
        if not groups:
            inside = re.findall(r"#include <(tessera/[\w/]+\.h)>", (self.root / "include" / header).read_text())
            up = "../" * page.count("/")
            listed = [f"* [{i}]({up}{self.pages[i]}.md): {prose.first_sentence(self.intro(i))}" for i in inside if i in self.pages]
            out.append("It includes:\n\n" + "\n".join(listed))
        return "\n\n".join(x for x in out if x) + "\n"

    def topic_page(self):
        out = ["---\nsearch:\n  exclude: true\n---\n\n# Reference\n\nEvery public name of the library, by header. All names are in the namespace `tessera`, which programs usually abbreviate:"
               " `namespace ts = tessera;`. `#include <tessera/tessera.h>` includes everything. There is also a list of [all names](all_names.md), and for"
               " readers who know JAX, Optax or Flax the [table of their names](../names.md). The defaulted parameter that captures the caller's source"
               " line is not shown."]
        for topic, hs in self.topics:
            rows = []
            for h in hs:
                names = {d.full for d in self.shown if home(d) == f"tessera/{h}.h" and not d.owner}
                text = prose.inline(prose.first_sentence(self.intro(f"tessera/{h}.h")), lambda _: None)
                rows.append(f"| [{h}]({self.pages[f'tessera/{h}.h']}.md) | {text} | {len(names)} |")
            out.append(f"## {topic}\n\n| header | | names |\n|---|---|---:|\n" + "\n".join(rows))
        return "\n\n".join(out) + "\n"

    def name_page(self):
        out = ["---\nsearch:\n  exclude: true\n---\n\n# All names\n\nThe public names in alphabetical order, without operators and members of classes."]
        letters = collections.defaultdict(list)
        tops = {d.full for d in self.shown if not d.owner and not d.name.startswith("operator")}
        for name in sorted(tops, key=lambda n: (n.split("::")[-1].lower(), n)):
            letters[name.split("::")[-1][0].upper()].append(name)
        out[0] += "\n\n" + " ".join(f"[{x}](#{x.lower()})" for x in letters)
        for letter, names in letters.items():
            listed = "\n".join(f"* [{n.replace('_', chr(92) + '_')}]({self.pages[self.where[n]]}.md#{anchor(n)})" for n in names)
            out.append(f"## {letter}\n\n<div class=\"names\" markdown>\n\n{listed}\n\n</div>")
        return "\n\n".join(out) + "\n"

    def write(self, pages):
        pages = pathlib.Path(pages)
        for header, page in self.pages.items():
            target = pages / f"{page}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.page(header))
        (pages / "topics.md").write_text(self.topic_page())
        (pages / "all_names.md").write_text(self.name_page())

    def navigation(self):
        return [{"By topic": "reference/topics.md"}, {"All names": "reference/all_names.md"}] + [
            {topic: [{h: f"reference/{self.pages[f'tessera/{h}.h']}.md"} for h in hs]} for topic, hs in self.topics]
