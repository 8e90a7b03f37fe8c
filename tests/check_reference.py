"""Checks that public names have documentation comments: check_reference.py SOURCE_DIR [--plant | --write].

The names are those of include/tessera without `detail`, as docs/site/headers.py reads them; neither Doxygen nor a compiler is needed. A name
is documented by a `///` comment above one of its declarations, by the comment of the declarations directly above if that names it or stands
above the type that it gives, and a field also by a comment behind it or by its class's comment if that names it. Operators, constructors and
destructors need none.

tests/undocumented.txt lists members that have none yet. It may only shrink: a name in it that is documented, or gone, is a mistake, too;
--write removes these. With --plant, names that lack a comment are planted, which the check must find."""
import pathlib
import re
import sys
import tempfile

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "docs" / "site"))
import headers

LEAST_NAMES, LEAST_HEADERS = 2000, 80
LIST = root / "tests" / "undocumented.txt"


def problems(include, listed):
    """The mistakes, and the names in the list that belong there no longer."""
    names, good = headers.documented(headers.declarations(include))
    bad = []
    if len(names) < LEAST_NAMES:
        bad.append(f"only {len(names)} public names were found")
    seen = len({d.header for group in names.values() for d in group})
    if seen < LEAST_HEADERS:
        bad.append(f"only {seen} headers have public names")
    without = {group[0].full: group[0] for key, group in names.items() if key not in good and key[1] != "a_format_has_one_placeholder_for_each_value"}
    bad += [f"include/{d.header}:{d.line}: {name} has no documentation comment" for name, d in without.items() if name not in listed]
    bad += [f"{name} needs a comment, since it is no member" for name, d in without.items() if name in listed and not d.owner]
    stale = sorted(listed - set(without))
    return bad + [f"tests/undocumented.txt lists {name}, which is documented or gone; remove it" for name in stale], stale, len(names)


def planted():
    """Headers with a mistake each, and ones without, which the check must tell apart."""
    cases = [("int f(int x);", ["f"]), ("/// Says what f does.\nint f(int x);", []), ("/// Says what f and g do.\nint f();\nint g();", []),
             ("/// Says what f does.\nint f();\nint g();", ["g"]), ("/// Says what f and g do.\nint f();\n\nint g();", ["g"]),
             ("/// The result.\nstruct R {\n  int a;  // a number\n};\nR g();", []), ("/// The result.\nstruct R {\n  int a;\n};", ["R::a"]),
             ("/// The result; `a` is a number.\nstruct R {\n  int a;\n};", []), ("namespace detail {\nint f();\n}", []),
             ("/// A class.\nclass C {\n public:\n  C(int);\n  int size() const;\n\n private:\n  int n_;\n};", ["C::size"]),
             ("template <class T>\nrequires(sizeof(T) > 1)\nauto f(T&& x) {\n  return x;\n}", ["f"]), ("#define TESSERA_NEW 1\n", ["TESSERA_NEW"]),
             ("/// One.\nint f();\nint f(int);", []), ("enum class E {\n  a,  // the first\n};", ["E"])]
    missed = []
    for text, wanted in cases:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "tessera").mkdir()
            (pathlib.Path(folder) / "tessera" / "new.h").write_text(f"#pragma once\n\nnamespace tessera::inline v0 {{\n\n{text}\n\n}}  // namespace tessera::inline v0\n")
            found = [m[1] for b in problems(folder, set())[0] if (m := re.search(r": (\S+) has no documentation", b))]
        if found != wanted:
            missed.append(f"in\n{text}\nthe check finds {found}, expected {wanted}")
    if not any("remove it" in b for b in problems(root / "include", {"NoSuchClass::member"})[0]):
        missed.append("a listed name that is gone is not found")
    return missed


if "--plant" in sys.argv[2:]:
    missed = planted()
    print("\n".join(missed) or "every planted name is judged rightly")
    sys.exit(bool(missed))
listed = {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}
bad, stale, count = problems(root / "include", listed)
# The reference is sorted by topics, and docs/site/build.py stops at a header that has none.
topics = {f"tessera/{header}.h" for line in (root / "docs/site/topics.tsv").read_text().splitlines() for header in line.split("\t")[1].split()}
bad += [f"docs/site/topics.tsv has no topic for {header}" for header in sorted({d.header for d in headers.declarations(root / "include")} - topics)
        if "/detail/" not in header]
if "--write" in sys.argv[2:]:
    LIST.write_text("\n".join(line for line in LIST.read_text().splitlines() if line not in stale) + "\n")
    bad = [b for b in bad if not b.endswith("remove it")]
print("\n".join(bad) or f"{count} public names, {len(listed)} of them undocumented members, which tests/undocumented.txt lists")
sys.exit(bool(bad))
