# SPDX-License-Identifier: Apache-2.0
"""What the structure tests share: the source files of a tree, their includes, and the
machine-readable blocks of docs/architecture.md. Paths are relative to the root, with
forward slashes."""

import os
import re
import sys

TOP_FOLDERS = ("compiler", "dialects", "passes", "runtime", "kernels", "tools", "test", "docs")
CODE = (".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".cuh", ".td", ".def", ".inc")
# Quoted includes of other projects; everything else must be a file of this tree.
FOREIGN = ("mlir/", "mlir-c/", "llvm/", "llvm-c/", "lld/", "gtest/", "gmock/", "nlohmann/", "onnx/", "google/")

_INCLUDE = re.compile(r'^[ \t]*(?:#[ \t]*)?include[ \t]+"([^"]+)"', re.MULTILINE)
_ANGLE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+<([^>]+)>", re.MULTILINE)


def root_of_arguments():
    """The root folder from the command line."""
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit("usage: %s ROOT" % sys.argv[0])
    return sys.argv[1]


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def files(root, extensions):
    """All files with one of the extensions in the top folders, sorted."""
    result = []
    for top in TOP_FOLDERS:
        for folder, subfolders, names in os.walk(os.path.join(root, top)):
            subfolders[:] = sorted(s for s in subfolders if not s.startswith((".", "__")))
            relative = os.path.relpath(folder, root).replace(os.sep, "/")
            result += [relative + "/" + n for n in sorted(names) if n.endswith(extensions)]
    return result


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def includes(root, path):
    """(line, included text) of each quoted include."""
    text = without_comments(read(root, path))
    return [(text.count("\n", 0, m.start()) + 1, m.group(1)) for m in _INCLUDE.finditer(text)]


def angle_includes(root, path):
    text = without_comments(read(root, path))
    return [(text.count("\n", 0, m.start()) + 1, m.group(1)) for m in _ANGLE.finditer(text)]


def folder(path):
    return path.rsplit("/", 1)[0] if "/" in path else ""


def stem(path):
    """The path without its extensions: dialects/dist/layout.h -> dialects/dist/layout."""
    head, _, name = path.rpartition("/")
    return head + "/" + name.split(".", 1)[0]


def architecture_block(root, name):
    """The lines of the block ```name ... ``` of docs/architecture.md."""
    page = read(root, "docs/architecture.md")
    found = re.search(r"^```%s\n(.*?)^```" % re.escape(name), page, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit("docs/architecture.md has no block ```%s" % name)
    return [line.strip() for line in found.group(1).splitlines() if line.strip()]


def finish(title, faults, summary):
    """Prints the faults and exits with 1, or prints the summary."""
    for fault in faults:
        print(fault)
    if faults:
        sys.exit("%s: %d fault%s" % (title, len(faults), "" if len(faults) == 1 else "s"))
    print("%s: %s" % (title, summary))
