# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
"""Hand-written files stay small: a warning above 400 lines, a fault above 600, no exceptions."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree

TITLE = "rooms"
WARN, LIMIT = 400, 600


def main():
    root = tree.root_of_arguments()
    faults, count = [], 0
    for path in tree.files(root, tree.CODE + (".py", ".sh", ".cmake", ".txt")):
        count += 1
        lines = tree.read(root, path).count("\n")
        if lines > LIMIT:
            faults.append("%s has %d lines, at most %d are allowed: it is two things" % (path, lines, LIMIT))
        elif lines > WARN:
            print("warning: %s has %d lines, the house aims at %d" % (path, lines, WARN))
    if not count:
        faults.append("no file found under " + root)
    tree.finish(TITLE, faults, "%d files are within %d lines" % (count, LIMIT))


if __name__ == "__main__":
    main()
