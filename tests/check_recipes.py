"""Checks the recipes of packaging/ without making a package: check_recipes.py SOURCE_DIR [--plant].

* Each recipe begins with a comment that says what was tried and what was not.
* Each has the version of include/tessera/config.h, unless it reads that file.
* Each names every library that cmake/TesseraDependencies.cmake looks for, by the name that its packages have.
* JSON and Python can be read.
* debian/control has the same development packages as scripts/packages, and its packages are named as the library's file is.

With --plant, each rule is broken in a copy of the texts, which must be found."""
import ast
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
FILES = {name: root / name for name in (
    "packaging/fetchcontent/CMakeLists.txt", "packaging/vcpkg/portfile.cmake", "packaging/vcpkg/vcpkg.json", "packaging/conan/conanfile.py",
    "packaging/spack/package.py", "packaging/nix/default.nix", "packaging/debian/control", "packaging/debian/changelog",
    "cmake/TesseraDependencies.cmake", "include/tessera/config.h", "scripts/packages")}
# What CMake calls a library, and what the recipes' packages are called: vcpkg, Spack, Nix.
NAMES = {"TBB": ("tbb", "tbb", "tbb"), "DNNL": ("onednn", "onednn", "oneDNN"), "LLVM": ("llvm", "llvm", "llvmPackages_19"),
         "fmt": ("fmt", "fmt", "fmt"), "nlohmann_json": ("nlohmann-json", "nlohmann-json", "nlohmann_json"), "XXHASH": ("xxhash", "xxhash", "xxHash"),
         "LIBZIP": ("libzip", "libzip", "libzip"), "DLPACK": ("dlpack", "dlpack", "dlpack"), "SLEEF": ("sleef", "sleef", "sleef"),
         "OPENBLAS": ("openblas", "openblas", "openblas"), "ZLIB": ("zlib", "zlib-api", "zlib")}
PARTS = {"CBLAS": "OPENBLAS", "ZSTD": "LLVM", "PkgConfig": None, "Threads": None}


def development_packages(text):
    return set(re.findall(r"\b(?:lib[a-z0-9-]+-dev|[a-z0-9-]+-dev)\b", text))


def problems(text):
    bad = []
    version = ".".join(re.findall(r"#define TESSERA_VERSION_[A-Z]+ (\d+)", text["include/tessera/config.h"]))
    for name in ("fetchcontent/CMakeLists.txt", "vcpkg/portfile.cmake", "conan/conanfile.py", "spack/package.py", "nix/default.nix"):
        head = text[f"packaging/{name}"].split("\n\n")[0] + text[f"packaging/{name}"][:1500]
        for words in (r"\bTried: \w", r"\bNot tried: \w"):
            if not re.search(words, head):
                bad.append(f"packaging/{name} does not say at its beginning what was tried and what was not")
                break
    for name, form in (("fetchcontent/CMakeLists.txt", r"tessera-(\d+\.\d+\.\d+)\.tar"), ("vcpkg/vcpkg.json", r'"version": "([^"]*)"'),
                       ("spack/package.py", r'version\("([^"]*)"'), ("nix/default.nix", r'version = "([^"]*)"'),
                       ("debian/changelog", r"^tessera \(([^-)]*)")):
        found = re.search(form, text[f"packaging/{name}"])
        if not found or found[1] != version:
            bad.append(f"packaging/{name} has the version {found and found[1]}, and the headers have {version}")
    cmake = re.sub(r"#.*", "", text["cmake/TesseraDependencies.cmake"])
    asked = re.findall(r"(?:find_package|pkg_check_modules)\((\w+)", cmake) + re.findall(r"find_(?:path|library)\(TESSERA_([A-Z]+?)(?:_\w+)? ", cmake)
    asked = {PARTS.get(a, a) for a in asked} - {None}
    bad += [f"tests/check_recipes.py does not know the packages of {a}" for a in sorted(asked - set(NAMES))]
    try:
        ported = {d if isinstance(d, str) else d["name"] for d in json.loads(text["packaging/vcpkg/vcpkg.json"])["dependencies"]}
    except ValueError as e:
        return bad + [f"packaging/vcpkg/vcpkg.json cannot be read: {e}"]
    for name in ("conan/conanfile.py", "spack/package.py"):
        try:
            ast.parse(text[f"packaging/{name}"])
        except SyntaxError as e:
            bad.append(f"packaging/{name} cannot be read: {e}")
    spack = set(re.findall(r'depends_on\("([\w-]+)', text["packaging/spack/package.py"]))
    nix = re.sub(r"#.*", "", text["packaging/nix/default.nix"])
    nix_names = set(re.findall(r"[\w-]+", nix))
    for library in sorted(asked & set(NAMES)):
        for recipe, found, wanted in zip(("vcpkg", "spack", "nix"), (ported, spack, nix_names), NAMES[library]):
            if wanted not in found:
                bad.append(f"the recipe for {recipe} does not have {wanted}, for which CMake looks")
    control = text["packaging/debian/control"]
    needed = development_packages(re.search(r"build_packages=\((.*?)\)", text["scripts/packages"], re.S)[1]) - {"libcli11-dev"}  # the examples'
    for name, found in (("debian/control", control.split("\n\n")[0]), ("conan/conanfile.py", text["packaging/conan/conanfile.py"])):
        for package in sorted(needed - development_packages(found)):
            bad.append(f"packaging/{name} does not have {package}, which scripts/packages has")
    named = f"libtessera{'.'.join(version.split('.')[:2])}"
    if f"Package: {named}\n" not in control:
        bad.append(f"packaging/debian/control has no package {named}, as the library's file is called")
    return bad


def planted(text):
    changes = {"packaging/nix/default.nix": ("Not tried", "Not done"), "packaging/spack/package.py": ('version("0', 'version("1'),
               "packaging/vcpkg/vcpkg.json": ('"sleef",', ""), "packaging/conan/conanfile.py": ('"libzip-dev", ', ""),
               "packaging/debian/control": ("libtessera0.1\nArch", "libtessera0\nArch"), "packaging/debian/changelog": ("(0.", "(9."),
               "cmake/TesseraDependencies.cmake": ("find_package(fmt", "find_package(other REQUIRED)\nfind_package(fmt")}
    wrong = 0
    for name, (old, new) in changes.items():
        if old not in text[name] or len(problems({**text, name: text[name].replace(old, new)})) != 1:
            print(f"planted in {name} and not found once: {new!r} in place of {old!r}")
            wrong += 1
    return wrong


def main():
    text = {name: path.read_text() for name, path in FILES.items()}
    if "--plant" in sys.argv[2:]:
        return planted(text)
    bad = problems(text)
    print("\n".join(bad) or "the recipes agree with CMake")
    return bool(bad)


sys.exit(main())
