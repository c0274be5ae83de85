#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a page with Python's own HTML parser and prints what it holds as JSON: tables as rows of cells, paragraphs by class, SVG
drawings, whatever it would load from elsewhere, and tags that do not close as they opened."""
import html.parser
import json
import re
import sys

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tables, self.paragraphs, self.notes, self.loads, self.unbalanced = [], [], {}, [], [], []
        self.svg, self.title, self.style = 0, "", ""

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        for name in ("src", "href", "xlink:href"):
            if names.get(name, "").strip() and not names[name].startswith("#") and not names[name].startswith("data:"):
                self.loads.append(f"{tag} {name}={names[name]}")
        if tag == "script":
            self.loads.append("script")
        if tag == "svg":
            self.svg += 1
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "p" and "svg" not in [name for name, _ in self.open]:
            self.paragraphs.setdefault(names.get("class", ""), []).append("")
        if tag == "li":
            self.notes.append("")
        if tag not in VOID:
            self.open.append((tag, names.get("class", "")))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.unbalanced.append(f"</{tag}> inside {self.open[-3:]}")
            return
        self.open.pop()

    def handle_data(self, data):
        tag, kind = self.open[-1] if self.open else ("", "")
        if tag in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif tag == "p" and self.paragraphs:
            self.paragraphs[kind][-1] += data
        elif tag == "li":
            self.notes[-1] += data
        elif tag == "title" and not self.svg:
            self.title += data
        elif tag == "style":
            self.style += data


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
page.close()
page.loads += re.findall(r"url\([^)]*\)|@import[^;]*", page.style)
page.unbalanced += [f"<{tag}> is left open" for tag, _ in page.open]
json.dump({"title": page.title, "tables": page.tables, "paragraphs": page.paragraphs, "notes": page.notes, "svg": page.svg,
           "loads": page.loads, "unbalanced": page.unbalanced}, sys.stdout)
