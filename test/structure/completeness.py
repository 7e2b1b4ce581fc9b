# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
"""Every op, pass and kernel has the tests and the places that docs/architecture.md promises."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree

TITLE = "completeness"
OPS = "dialects/graph"
RUN_LINE = "RUN" + ":"  # in two pieces: lit would read the whole word as its own


def exists(root, path):
    return os.path.isfile(os.path.join(root, path))


def text_of(root, path):
    return tree.read(root, path) if exists(root, path) else ""


def text_under(root, folders, extensions):
    return "\n".join(
        tree.read(root, path)
        for path in tree.files(root, extensions)
        if path.startswith(tuple(f + "/" for f in folders))
    )


def headers(text, keyword):
    """(name, text up to the body) of each record: `def A : B<...> {` or `;`."""
    text = tree.without_comments(text)
    for found in re.finditer(r"^\s*%s\s+(\w+)" % keyword, text, re.MULTILINE):
        rest = text[found.end():]
        end = min((rest.find(c) for c in "{;" if c in rest), default=len(rest))
        yield found.group(1), rest[:end]


def traits_by_class(root):
    """The words in the header of each op class, its base classes' included."""
    words = {}
    for path in tree.files(root, (".td",)):
        if path.startswith(OPS + "/"):
            for name, header in headers(tree.read(root, path), "class"):
                words[name] = header
    return words


def all_words(name, header, classes):
    """A record's header with those of its base classes."""
    text, pending, seen = header, [header], {name}
    while pending:
        for word in re.findall(r"\w+", pending.pop()):
            if word in classes and word not in seen:
                seen.add(word)
                text += classes[word]
                pending.append(classes[word])
    return text


def mentions(text, mnemonic):
    return re.search(r"graph\.%s(?![\w.])" % re.escape(mnemonic), text) is not None


def ops(root):
    """(file, record, mnemonic, header with its bases) of each op."""
    classes = traits_by_class(root)
    for path in tree.files(root, (".td",)):
        if not path.startswith(OPS + "/"):
            continue
        for name, header in headers(tree.read(root, path), "def"):
            if not re.fullmatch(r"Graph_\w+Op", name):
                continue
            mnemonic = re.search(r'"([a-z_0-9]+)"', header)
            if not mnemonic:
                sys.exit("%s: cannot find the mnemonic of %s" % (path, name))
            yield path, name, mnemonic.group(1), all_words(name, header, classes)


def check_ops(root, faults):
    gradients = text_under(root, ["test/numerics/gradients"], (".mlir", ".cpp", ".h", ".py", ".txt"))
    count = 0
    for path, record, mnemonic, words in ops(root):
        count += 1
        family = os.path.basename(path)[: -len(".td")]
        tests = "test/dialects/graph/%s/" % family
        has_space = "IterationSpaceOpInterface" in words
        has_gradient = "DifferentiableOpInterface" in words
        wanted = ["ops.mlir", "invalid.mlir"] + (["local.mlir"] if has_space else [])
        for name in wanted:
            if not mentions(text_of(root, tests + name), mnemonic):
                faults.append("%s: graph.%s is not in %s" % (path, mnemonic, tests + name))
        if has_space and has_gradient == ("NonDifferentiable" in words):
            faults.append(
                "%s: %s must be either DifferentiableOpInterface or NonDifferentiable" % (path, record)
            )
        if has_gradient and not mentions(gradients, mnemonic):
            faults.append("%s: graph.%s has no gradient test in test/numerics/gradients" % (path, mnemonic))
    if not count:
        faults.append("no op record found in " + OPS)
    return count


def check_passes(root, faults):
    count = 0
    for path in tree.files(root, ("passes.td",)):
        found = re.match(r"passes/(\w+)/passes\.td$", path)
        if not found:
            continue
        phase = found.group(1)
        for name, header in headers(tree.read(root, path), "def"):
            flag = re.search(r'\bPass<\s*"([\w-]+)"', header)
            if not flag:
                continue
            count += 1
            stem = flag.group(1).replace("-", "_")
            if not exists(root, "passes/%s/%s.cpp" % (phase, stem)):
                faults.append("%s: %s has no passes/%s/%s.cpp" % (path, name, phase, stem))
            for ending in (".mlir", "-errors.mlir"):
                spellings = [
                    "test/passes/%s/%s%s" % (phase, s, ending) for s in sorted({flag.group(1), stem})
                ]
                if not any(RUN_LINE in text_of(root, s) for s in spellings):
                    faults.append("%s: %s has no test %s" % (path, name, spellings[0]))
    if not count:
        faults.append("no pass found in passes/*/passes.td")
    return count


def check_kernels(root, faults):
    table = tree.without_comments(text_of(root, "runtime/abi/kernels.def"))
    names = re.findall(r"^\s*ECH_KERNEL\(\s*(\w+)", table, re.MULTILINE)
    defined = text_under(root, ["kernels/cpu"], (".cpp", ".h"))
    used = text_under(root, ["dialects", "passes"], (".cpp", ".h", ".td"))
    for name in names:
        # A definition, not a declaration: its parameter list is followed by a body.
        if not re.search(r"\bech_%s\s*\([^;{]*\)\s*\{" % name, defined):
            faults.append("runtime/abi/kernels.def: ech_%s is not defined in kernels/cpu" % name)
        if not re.search(r"\b(?:ech_)?%s\b" % name, used):
            faults.append("runtime/abi/kernels.def: nothing in dialects or passes names %s" % name)
    if not names:
        faults.append("runtime/abi/kernels.def has no row")
    return len(names)


def main():
    root = tree.root_of_arguments()
    faults = []
    counts = check_ops(root, faults), check_passes(root, faults), check_kernels(root, faults)
    tree.finish(TITLE, faults, "%d ops, %d passes and %d kernels have their places" % counts)


if __name__ == "__main__":
    main()
