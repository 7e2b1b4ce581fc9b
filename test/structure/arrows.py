# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
"""Includes follow the arrows of docs/architecture.md, are spelled from the root, name files that
exist, and make no circle between folders at depth 1, 2 or 3."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree

TITLE = "arrows"


def parse_arrows(root):
    """[(from pattern, [to patterns])]"""
    arrows = []
    for line in tree.architecture_block(root, "arrows"):
        source, separator, targets = line.partition("->")
        if not separator:
            sys.exit("docs/architecture.md: not an arrow: " + line)
        arrows.append((source.strip(), [t.strip() for t in targets.split(",")]))
    return arrows


def matches(pattern, path):
    """Whether a file is in the folder, or is the file, that the pattern names."""
    if pattern == "everything":
        return True
    if pattern == "test":  # the one folder whose inside needs no list
        return path.startswith("test/")
    if pattern.endswith("/*"):
        return tree.folder(tree.folder(path)) == pattern[:-2]
    return pattern in (tree.folder(path), tree.stem(path))


def allowed(arrows, source, target):
    if tree.folder(source) == tree.folder(target):
        return True
    return any(
        matches(start, source) and any(matches(end, target) for end in ends)
        for start, ends in arrows
    )


def exists(root, target):
    """Generated files (.inc) are known by their folder only."""
    if os.path.isfile(os.path.join(root, target)):
        return True
    return target.endswith(".inc") and os.path.isdir(os.path.join(root, tree.folder(target)))


def check_includes(root, arrows, faults):
    """Returns the edges (source file, target file) that stay inside the tree."""
    edges = []
    for source in tree.files(root, tree.CODE):
        for line, target in tree.includes(root, source):
            place = "%s:%d: " % (source, line)
            if target.startswith(tree.FOREIGN):
                continue
            if not target.startswith(tuple(t + "/" for t in tree.TOP_FOLDERS)):
                faults.append(place + 'includes "%s"; spell it from the root, or with <> if it is not ours' % target)
            elif not exists(root, target):
                faults.append(place + 'includes "%s", which does not exist' % target)
            else:
                edges.append((source, target))
                if not allowed(arrows, source, target):
                    faults.append(
                        place + 'includes "%s": no arrow from %s to %s in docs/architecture.md'
                        % (target, tree.folder(source), tree.folder(target))
                    )
    return edges


def prefix(path, depth):
    return "/".join(tree.folder(path).split("/")[:depth])


def find_circle(graph):
    """A list of nodes that closes on itself, or None. Iterative depth-first search."""
    done = set()
    for start in sorted(graph):
        stack, on_path = [(start, iter(sorted(graph[start])))], [start]
        while stack:
            node, targets = stack[-1]
            target = next((t for t in targets if t not in done), None)
            if target is None:
                done.add(node)
                on_path.pop()
                stack.pop()
            elif target in on_path:
                return on_path[on_path.index(target):] + [target]
            else:
                on_path.append(target)
                stack.append((target, iter(sorted(graph.get(target, ())))))
    return None


def check_circles(edges, faults):
    for depth in (1, 2, 3):
        graph = {}
        for source, target in edges:
            a, b = prefix(source, depth), prefix(target, depth)
            # A folder may use folders inside itself; that is no circle of rooms.
            if a != b and not b.startswith(a + "/") and not a.startswith(b + "/"):
                graph.setdefault(a, set()).add(b)
        circle = find_circle(graph)
        if circle:
            faults.append("circle of folders at depth %d: %s" % (depth, " -> ".join(circle)))


def main():
    root = tree.root_of_arguments()
    faults = []
    edges = check_includes(root, parse_arrows(root), faults)
    check_circles(edges, faults)
    if not edges:
        faults.append("no include found under " + root)
    tree.finish(TITLE, faults, "%d includes follow the arrows" % len(edges))


if __name__ == "__main__":
    main()
