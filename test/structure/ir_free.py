# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
"""The rooms of the block ```ir-free in docs/architecture.md see none of the listed projects,
neither directly nor through our own headers."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree

TITLE = "ir_free"


def parse_rooms(root):
    """[(room, [forbidden prefixes])]"""
    rooms = []
    for line in tree.architecture_block(root, "ir-free"):
        room, *projects = line.split()
        prefixes = []
        for project in projects:
            prefixes += [project + "/", project + "-c/"]
        rooms.append((room, tuple(prefixes)))
    return rooms


def in_room(room, path):
    return path.startswith(room + "/") or tree.stem(path) == room


def all_includes(root, path):
    return tree.includes(root, path) + tree.angle_includes(root, path)


def trail_to(root, start, forbidden, known):
    """The chain of files from `start` to a forbidden include, or None."""
    trails, seen = [[start]], {start}
    while trails:
        trail = trails.pop()
        for _, target in all_includes(root, trail[-1]):
            if target.startswith(forbidden):
                return trail + [target]
            if target in known and target not in seen:
                seen.add(target)
                trails.append(trail + [target])
    return None


def main():
    root = tree.root_of_arguments()
    sources = tree.files(root, tree.CODE)
    known, faults, checked = set(sources), [], 0
    for room, forbidden in parse_rooms(root):
        for path in sources:
            if in_room(room, path):
                checked += 1
                trail = trail_to(root, path, forbidden, known)
                if trail:
                    faults.append("%s must not see %s: %s" % (room, forbidden[0], " -> ".join(trail)))
    if not checked:
        faults.append("no file of the rooms without IR found under " + root)
    tree.finish(TITLE, faults, "%d files are free of IR" % checked)


if __name__ == "__main__":
    main()
