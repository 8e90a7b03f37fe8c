"""Compares what the shared library exports with the committed list: symbols.py LIBRARY [--write | --plant].

The list, symbols.txt beside this file, has the functions and objects of the namespace tessera that the library defines itself. Weak
symbols, which are inline functions, templates and what belongs to types, are left out, because it depends on the compiler and its options
which of them exist; programs have their own copies. With --write, the list is written anew. With --plant, a symbol is taken from what the
library exports and one is added, and the comparison must find both."""
import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("symbols.txt")
FIRST = "# What libtessera.so {} exports from the namespace tessera (symbols.py). Programs are linked with these names.\n"


def exported(library):
    """The version of the library's name, its own symbols, and strong symbols that it should not export."""
    dynamic = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
    soname = re.search(r"\(SONAME\).*\[(?:.*/)?libtessera\.so\.?([\d.]*)\]", dynamic)
    lines = subprocess.run(["nm", "-D", "-C", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    strong = {m[1] for line in lines if (m := re.match(r"[0-9a-f]+ [TDBR] (.*)", line))}
    own = {s for s in strong if re.match(r"(typeinfo for |typeinfo name for |vtable for )?tessera::", s)}
    return soname and soname[1], own, strong - own


def differences(found, wanted, strangers):
    bad = [f"the library does not export {s} any more, with which programs may be linked" for s in sorted(wanted - found)]
    bad += [f"the library exports {s}, which the list does not have" for s in sorted(found - wanted)]
    bad += [f"the library exports {s}, which is not in the namespace tessera" for s in sorted(strangers)]
    return bad


def main():
    version, found, strangers = exported(sys.argv[1])
    if "--write" in sys.argv[2:]:
        LIST.write_text(FIRST.format(version or "0.1") + "".join(f"{s}\n" for s in sorted(found)))
        return 0
    first, *lines = LIST.read_text().splitlines()
    listed = set(lines)
    if "--plant" in sys.argv[2:]:
        gone = min(found)
        bad = differences(found - {gone} | {"tessera::planted()"}, found, {"planted"})
        wrong = len(bad) != 3 or gone not in bad[0] or "tessera::planted()" not in bad[1] or len(found) < 500
        print("planted differences are found" if not wrong else f"planted differences gave {bad}")
        return wrong
    bad = differences(found, listed, strangers)
    if version and f"libtessera.so {version} " not in first:
        bad.append(f"the library is called libtessera.so.{version}, and the list begins with '{first}'")
    for line in bad:
        print(line)
    if bad:
        print("docs/stability.md says what may change in which version. If the change is meant: python3 tests/package/symbols.py LIBRARY --write")
    else:
        print(f"{len(found)} symbols, as listed")
    return bool(bad)


sys.exit(main())
