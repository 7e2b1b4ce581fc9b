#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All exports of some folders have the same ops in @evaluate after the training phase.

usage: same_ops.py --echelon BIN --models DIR FOLDER [FOLDER...]

Exporters may store a parameter transposed, sliced or with dims of size 1: views of parameters by constants are taken
away, and what a contraction reads of a parameter has no order of dims. Every other op gets a line (name, attributes,
types) and a hash over it and its operands', sums and products in any order. Files must agree in the sorted lines and
in the sorted hashes, so they compute the same thing. Names of contracted dims are renamed in order. Numbers are
compared to five digits: exporters round scales and rotary tables to f32 in different places.
"""
import argparse
import difflib
import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile

VIEWS = ("reshape", "transpose", "slice", "broadcast")
VALUE = r"%[A-Za-z_0-9]+(?:#\d+)?"
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")


def rounded(text):
    return NUMBER.sub(lambda found: "%.5g" % float(found.group()), text)


def constant_text(text):
    """A constant's values to five digits, dense hex included."""
    found = re.search(r'dense<"0x([0-9A-F]+)"> : tensor<[0-9x]*f32>', text)
    if not found:
        return rounded(text)
    data = bytes.fromhex(found.group(1))
    values = struct.unpack("<%df" % (len(data) // 4), data)
    return text.replace(found.group(0), "dense [%s]" % " ".join("%.4f" % value for value in values))


def dims_of(type_text):
    return re.findall(r"\d+(?=x)", type_text)


def without_order(type_text):
    """The type of a parameter: its dims that are not 1, in no order."""
    element = type_text[:-1].rsplit("x", 1)[-1].replace("tensor<", "")
    return "parameter<%s>" % " ".join(sorted(d for d in dims_of(type_text) if d != "1") + [element])


def product(type_text):
    result = 1
    for dim in dims_of(type_text):
        result *= int(dim)
    return result


class Function:
    """@evaluate of one dump, as lines and hashes."""

    def __init__(self, text):
        self.labels = {}      # value -> hash of what it is
        self.parameters = {}  # value -> type without order, of reads and their views
        self.lines, self.hashes = [], []
        body = re.search(r"func\.func @evaluate\((.*?)\n  \}", text, re.DOTALL).group(1).splitlines()
        for name, kind, label in re.findall(r'(%arg\d+): (tensor<\S+>) \{graph.name = "(.*?)"', body[0]):
            self.labels[name] = "input %s %s" % (label, kind)
        for line in body[1:]:
            line = re.sub(r" loc\((?:#loc\d*|\".*)\)$", "", line.strip())
            if line and line != "return":
                self.add(line)

    def add(self, line):
        found = re.match(r"(?:(%s(?:, %s)*) = )?graph\.(\w+)\s*(.*)$" % (VALUE, VALUE), line)
        if not found:
            raise ValueError("cannot read: " + line)
        results = found.group(1).split(", ") if found.group(1) else []
        op, rest = found.group(2), found.group(3)
        if op == "constant":
            self.name(results, "constant " + constant_text(rest))
            self.lines.append("constant " + constant_text(rest)[:200])
            return
        body, _, types = rest.rpartition(" : ")
        operands = re.findall(VALUE, body)
        if op == "read":
            self.parameters[results[0]] = without_order(types)
        elif self.is_parameter_view(op, operands, types):
            self.parameters[results[0]] = without_order(types.split(" -> ")[1])
        else:
            self.add_computation(op, operands, body, types, results)

    def is_parameter_view(self, op, operands, types):
        if op not in VIEWS or operands[0] not in self.parameters:
            return False
        before, after = re.sub("[()]", "", types).split(" -> ")
        return op != "broadcast" or product(before) == product(after)

    def add_computation(self, op, operands, body, types, results):
        before, _, after = types.partition(" -> ")
        operand_types = re.findall(r"tensor<[^>]*>", before)
        operand_types += operand_types[-1:] * (len(operands) - len(operand_types))
        texts = [self.parameters.get(value, kind) for value, kind in zip(operands, operand_types)]
        attributes = rounded(re.sub("@" + r'("[^"]*"|\S+)', "", re.sub(VALUE + ",? ?", "", body)))
        if op == "einsum":
            attributes = self.renamed(attributes, operands)
        if op == "accumulate":  # the variable says what the result is
            attributes = re.search(r"@\S+", body).group()
        if op == "broadcast" and operands[0] in self.parameters:
            attributes = ""  # the dims follow from the types, but for the order that a parameter has not
        inputs = [self.parameters.get(value) or self.labels[value] for value in operands]
        if op == "binary" and attributes.split()[0] in ("add", "mul"):
            inputs, texts = sorted(inputs), sorted(texts)
        line = "%s %s (%s) -> %s" % (op, attributes.strip(), ", ".join(texts), after or operand_types[0])
        self.lines.append(line)
        label = hashlib.sha256("\n".join([line] + inputs).encode()).hexdigest()
        self.hashes.append(label)
        self.name(results, label)

    def name(self, results, label):
        for index, value in enumerate(results):
            self.labels[value] = "%s %d" % (label, index)

    def renamed(self, spec, operands):
        """Dims a, b, c.. in order of the result, then of the operands; those of a parameter in no order."""
        found = re.search('"(.*),(.*)->(.*)"', spec)
        lhs, rhs, result = [part.split() for part in found.groups()]
        names = {}
        for name in result + lhs + rhs:
            names.setdefault(name, chr(ord("a") + len(names)))
        sides = []
        for value, side in zip(operands, (lhs, rhs)):
            side = [names[name] for name in side]
            sides.append(" ".join(sorted(side) if value in self.parameters else side))
        return '"%s, %s -> %s"' % (sides[0], sides[1], " ".join(names[name] for name in result))


def ops_of(echelon, folder, file, scratch):
    spec = "train_loss_in_graph.json" if "_loss" in file else "train.json"
    dump = os.path.join(scratch, "dump.mlir")
    done = subprocess.run([echelon, "compile", os.path.join(folder, file), "--train", os.path.join(folder, spec),
                           "--batches", os.path.join(folder, "batches.safetensors"), "--compile-to", "training",
                           "-o", dump], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit("%s/%s does not compile: %s" % (folder, file, done.stdout))
    with open(dump) as text:
        return Function(text.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--echelon", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    first, first_name, failed, total = None, "", 0, 0
    for name in options.folders:
        folder = os.path.join(options.models, name)
        for file in sorted(f for f in os.listdir(folder) if f.endswith(".onnx")):
            with tempfile.TemporaryDirectory() as scratch:
                ops = ops_of(options.echelon, folder, file, scratch)
            label = "%s/%s" % (name, file)
            total += 1
            if first is None:
                first, first_name = ops, label
            same = sorted(ops.lines) == sorted(first.lines)
            if same and sorted(ops.hashes) == sorted(first.hashes):
                print("ok    %s: %d ops" % (label, len(ops.lines)))
                continue
            failed += 1
            print("FAIL  %s differs from %s" % (label, first_name))
            known = set(first.hashes)
            changed = list(difflib.unified_diff(sorted(first.lines), sorted(ops.lines), first_name, label, "", "", 0,
                                                ""))
            print("\n".join(changed or ["equal ops, but other operands: " + line for line, label in
                                        zip([l for l in ops.lines if not l.startswith("constant")], ops.hashes)
                                        if label not in known][:3]))
    print("%d of %d exports have the same ops" % (total - failed, total))
    return 1 if failed or total < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
