"""Builds the site: build.py ROOT SITE. scripts/site runs it in an environment that has MkDocs."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config

import drawing
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
    generated = {"REFERENCE": names.navigation() + [{"Operations": "ops.md"}], "ROOMS": documents.titled(documents.rooms), "EXAMPLES": documents.titled(documents.examples),
                 "LESSONS": documents.titled(documents.lessons), "COMING_FROM": documents.titled(documents.coming_from),
                 "NOTEBOOKS": ["notebooks.md", *documents.titled(documents.notebooks)]}
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


drawing.put_into_pages(site / "html")


def tagged(entry, titles):
    """An entry of the search index, with the public name of its section, or the navigation's title of its page, as a tag. A tag outweighs
    everything else, so that a search for a name finds its section first."""
    page, _, anchor = entry["location"].partition("#")
    if anchor and anchor in sections.get(page, {}):
        return {**entry, "tags": [sections[page][anchor]]}
    return {**entry, "tags": [titles[page].lower()]} if not anchor and page in titles else entry


def titles_of(entry):
    """{address of a page: its title} of the documents in the navigation."""
    if isinstance(entry, list):
        return {k: v for e in entry for k, v in titles_of(e).items()}
    return {k: v for title, value in entry.items() for k, v in ({value.replace(".md", ".html"): title} if isinstance(value, str) else titles_of(value)).items()} \
        if isinstance(entry, dict) else {}


# Of the names that differ only by their case or namespace, the one that is most probably meant has the tag.
best = {}
for d in names.shown:
    if not d.owner and not d.name.startswith("operator"):
        rank = (d.full.count("::"), d.kind != "function", d.kind != "class")
        key = d.name.lower()
        best[key] = min(best.get(key, (rank, d.full)), (rank, d.full))
sections = {}
for key, (_, name) in best.items():
    sections.setdefault(f"reference/{names.pages[names.where[name]]}.html", {})[reference.anchor(name)] = key
titles = {page: title for page, title in titles_of(nav).items() if "/" not in page or page.startswith("coming_from/")}
titles["lessons/index.html"] = "Lessons"
index = json.loads((site / "html/search/search_index.json").read_text())
index["docs"] = [tagged(entry, titles) for entry in index["docs"]]
text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
(site / "html/search/search_index.json").write_text(text)
(site / "html/search/search_index.js").write_text(f"var __index = {text}")
