"""Builds the site: build.py ROOT SITE. scripts/site runs it in an environment that has MkDocs."""
import os
import pathlib
import shutil
import subprocess
import sys

import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config

import pages
import reference

root, site = map(pathlib.Path, sys.argv[1:3])
tools = root / "docs" / "site"
shutil.rmtree(site / "doxygen", ignore_errors=True)
subprocess.run(["doxygen", tools / "Doxyfile"], check=True, stderr=subprocess.DEVNULL, env={**os.environ, "TESSERA_SOURCE": str(root), "TESSERA_SITE": str(site)})

shutil.rmtree(site / "pages", ignore_errors=True)
documents = pages.Pages(root, site / "pages")
documents.write()
names = reference.Reference(root, site / "doxygen" / "xml")
wrong = reference.disagreements(names.declared, names.doxygen)
if wrong:
    sys.exit("\n".join(wrong))
names.write(site / "pages" / "reference")


def filled(entry):
    """The navigation, with what is generated in the place of its names."""
    generated = {"REFERENCE": names.navigation() + [{"Operations": "ops.md"}], "ROOMS": documents.titled(documents.rooms), "EXAMPLES": documents.titled(documents.examples)}
    if isinstance(entry, list):
        return [filled(e) for e in entry]
    if isinstance(entry, dict):
        return {key: generated[value] if isinstance(value, str) and value in generated else filled(value) for key, value in entry.items()}
    return entry


os.environ["TESSERA_SITE_THEME"] = str(tools / "theme")
text = (tools / "mkdocs.yml").read_text()
nav = filled(yaml.safe_load("nav:\n" + text.split("\nnav:\n")[1])["nav"])
config = load_config(str(tools / "mkdocs.yml"), docs_dir=str(site / "pages"), site_dir=str(site / "html"), nav=nav)
build(config)
