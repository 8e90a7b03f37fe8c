"""Compares src/platforms/abi.h and src/pjrt/profiler_abi.h with the layouts of the interface that the package pypjrt has:
abi_test.py [pypjrt's module [header ...]]. Skipped without pypjrt (77)."""
import ctypes
import importlib
import pathlib
import re
import sys

import interpreter

interpreter.need("pypjrt")

SCALARS = {"std::size_t": 8, "std::int64_t": 8, "std::int32_t": 4, "std::uint32_t": 4, "int": 4, "float": 4, "bool": 1}
checked, wrong = 0, []


def check(what, got, want):
    global checked
    checked += 1
    if got != want:
        wrong.append(f"{what} is {got}, and {want} in pypjrt")


def round_up(n, alignment):
    return -(-n // alignment) * alignment


class Layout:
    """The fields of a struct or union in order, each with its offset and size."""

    def __init__(self):
        self.fields, self.end, self.alignment = {}, 0, 1

    def add(self, name, size, alignment, overlaps=False):
        offset = 0 if overlaps else round_up(self.end, alignment)
        self.fields[name] = (offset, size)
        self.end = max(self.end, offset + size)
        self.alignment = max(self.alignment, alignment)
        return offset

    def include(self, other, overlaps=False):
        offset = 0 if overlaps else round_up(self.end, other.alignment)
        for name, (at, size) in other.fields.items():
            self.fields[name] = (offset + at, size)
        self.end = max(self.end, offset + other.size())
        self.alignment = max(self.alignment, other.alignment)

    def size(self):
        return round_up(self.end, self.alignment)


def size_and_alignment(kind, layouts):
    if kind.endswith("*"):
        return 8, 8
    if kind in layouts:
        return layouts[kind].size(), layouts[kind].alignment
    return SCALARS[kind], SCALARS[kind]


def read_members(text, layouts, layout, overlaps=False):
    while text := text.strip():
        if union := re.match(r"union \{(.*?)\};", text, re.S):
            inner = Layout()
            read_members(union[1], layouts, inner, overlaps=True)
            layout.include(inner)
            text = text[union.end():]
            continue
        declaration, text = text.split(";", 1)
        declaration = " ".join(declaration.split())
        if function := re.match(r"[\w:]+ ?\*? ?\(\*(\w+)\)\(", declaration):
            layout.add(function[1], 8, 8, overlaps)
            continue
        kind, name = re.fullmatch(r"(?:const )?(.*?)(\w+)", declaration).groups()
        kind = kind.replace(" const", "").replace(" ", "")
        layout.add(name, *size_and_alignment(kind, layouts), overlaps)


def read_header(text):
    text = re.sub(r"//.*", "", text)
    layouts, enums = {}, {}
    for match in re.finditer(r"^(struct|enum) ?(\w*)(?: : ([\w:]+))? \{(.*?)\};", text, re.M | re.S):
        kind, name, base, body = match.groups()
        if kind == "enum":
            value = -1
            for entry in filter(None, (e.strip() for e in body.split(","))):
                entry, _, given = entry.partition("=")
                value = int(given) if given else value + 1
                enums[entry.strip()] = value
            continue
        layout = layouts[name] = Layout()
        if base:
            layout.include(layouts[base])
        # A union's members contain "};" too, so the struct ends at the next line that begins with it.
        body = text[match.start(4):text.index("\n}", match.start(4))] if "union {" in body else body
        read_members(body, layouts, layout)
    return layouts, enums


def compare(name, layout, theirs):
    names = {field for field, *_ in theirs._fields_}
    for inner, kind in ((f, k) for f, k, *_ in theirs._fields_ if f in getattr(theirs, "_anonymous_", ())):
        names |= {field for field, *_ in kind._fields_} - {inner}
    for field, (offset, size) in layout.fields.items():
        if field not in names:
            wrong.append(f"{name}.{field} is not in pypjrt's {name}, which has {', '.join(sorted(names))}")
            continue
        there = getattr(theirs, field)
        check(f"the offset of {name}.{field}", offset, there.offset)
        check(f"the size of {name}.{field}", size, there.size)
    # Fields that later versions append are the only ones that may be missing.
    later = [getattr(theirs, f).offset for f in names - layout.fields.keys() if hasattr(theirs, f) and not f.startswith("_")]
    check(f"the number of fields that {name} leaves out before its end", sum(o < layout.end for o in later), 0)
    if not later:
        check(f"the size of {name}", layout.size(), ctypes.sizeof(theirs))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    abi = importlib.import_module("pypjrt._abi." + (sys.argv[1] if len(sys.argv) > 1 else "pjrt_0_114"))
    headers = sys.argv[2:] or [root / "src/platforms/abi.h", root / "src/pjrt/profiler_abi.h"]
    layouts, enums = read_header("\n".join(pathlib.Path(h).read_text() for h in headers))
    structs = 0
    for name, layout in layouts.items():
        theirs = getattr(abi, name, None)
        if name in ("PJRT_Head", "PJRT_Api"):
            continue  # the beginning of every struct; the table follows
        if theirs is None:
            wrong.append(f"pypjrt has no {name}")
            continue
        structs += 1
        compare(name, layout, theirs)
    table = layouts["PJRT_Api"].fields
    ours = [f for f in table if f not in ("struct_size", "extension_start", "pjrt_api_version")]
    for at, name in enumerate(abi.FUNCTIONS[:len(ours)]):
        check(f"the function at slot {at}", ours[at], name)
        check(f"the offset of {ours[at]}", table[ours[at]][0], abi.VTABLE_OFFSET + 8 * abi.SLOT[name])
    for name, value in enums.items():
        check(f"the value of {name}", value, getattr(abi, name, None))
    print("\n".join(wrong))
    print(f"{checked} comparisons of {structs} structs, {len(ours)} functions and {len(enums)} constants")
    for what, got, least in (("comparisons", checked, 2500), ("structs", structs, 170), ("functions", len(ours), 135), ("constants", len(enums), 50)):
        if got < least:
            print(f"there should be at least {least} {what}")
            return 1
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
