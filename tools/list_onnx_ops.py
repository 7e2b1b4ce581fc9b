#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/reference/onnx-ops.md from the op table of compiler/onnx (rows `{"Op", since, import, fold}`)."""
import glob
import os
import re
import sys

ROW = re.compile(r'\{"([A-Z][A-Za-z0-9]*)",\s*(\d+),\s*(\w+),\s*(\w+)')
HEAD = """# ONNX operators

Made by `tools/list_onnx_ops.py`; `test/structure/fresh_docs.py` compares. IR 3 to 14, opset 7 to 25, domains `""` and `ai.onnx`. *Data*: works on
values that depend on inputs or parameters and, if it is on the way to the loss, has a gradient. *Constants*: is computed at compile time when all its
operands are constants (shapes, masks, rotary tables). Everything else is refused with all op names and nodes at once.

| operator | since opset | data | constants |
|---|---|---|---|
"""


def rows(root):
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "compiler/onnx/*.cpp"))):
        with open(path, encoding="utf-8") as file:
            for name, since, imports, folds in ROW.findall(file.read()):
                entry = found.setdefault(name, [int(since), False, False])
                entry[0] = min(entry[0], int(since))
                entry[1] |= imports != "nullptr"
                entry[2] |= folds != "nullptr"
    return found


def render(root):
    yes = {True: "yes", False: ""}
    lines = ["| %s | %d | %s | %s |" % (name, since, yes[data], yes[constants])
             for name, (since, data, constants) in sorted(rows(root).items())]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render(sys.argv[1] if len(sys.argv) > 1 else "."))
