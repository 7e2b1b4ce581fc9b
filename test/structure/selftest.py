# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
"""The structure tests fail when they should: faults are planted in a copy of the tree, and each
test must name its fault there and not before."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tree

ROOT = ""


def run(script, root):
    """(exit code, everything it printed)"""
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, script), root],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )
    return done.returncode, done.stdout


class PlantedFaults(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="echelon-structure-")
        self.addCleanup(shutil.rmtree, self.root)
        for top in tree.TOP_FOLDERS:
            source = os.path.join(ROOT, top)
            if os.path.isdir(source):
                shutil.copytree(
                    source, os.path.join(self.root, top),
                    ignore=shutil.ignore_patterns("golden", "__pycache__", "*.onnx", "*.safetensors"),
                )

    def write(self, path, text, mode="w"):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, mode, encoding="utf-8") as file:
            file.write(text)

    def edit(self, path, old, new):
        text = tree.read(self.root, path)
        self.assertIn(old, text, path)
        self.write(path, text.replace(old, new))

    def expect_fault(self, script, plant, message):
        """`message` is absent from the script's answer before `plant` and there after it."""
        _, before = run(script, self.root)
        self.assertNotIn(message, before)
        plant()
        code, after = run(script, self.root)
        self.assertNotEqual(code, 0, after)
        self.assertIn(message, after)

    def test_an_upward_include(self):
        self.expect_fault(
            "arrows.py",
            lambda: self.write("runtime/base/seeded.h", '#include "runtime/engine/run.h"\n'),
            'runtime/base/seeded.h:1: includes "runtime/engine/run.h": no arrow',
        )

    def test_a_phase_that_includes_another(self):
        self.expect_fault(
            "arrows.py",
            lambda: self.write("passes/fusion/seeded.cpp", '#include "passes/training/passes.h"\n'),
            'passes/fusion/seeded.cpp:1: includes "passes/training/passes.h": no arrow',
        )

    def test_an_upward_tablegen_include(self):
        self.expect_fault(
            "arrows.py",
            lambda: self.write("dialects/graph/seeded.td", 'include "passes/training/passes.td"\n'),
            'dialects/graph/seeded.td:1: includes "passes/training/passes.td": no arrow',
        )

    def test_a_circle(self):
        def plant():
            self.edit("docs/architecture.md", "dialects/dist           ->", "dialects/graph -> dialects/dist\ndialects/dist           ->")
            self.write("dialects/graph/seeded.h", '#include "dialects/dist/layout.h"\n')
            self.write("dialects/dist/seeded.h", '#include "dialects/graph/iteration_space.h"\n')
        self.expect_fault("arrows.py", plant, "circle of folders at depth 2")

    def test_an_include_not_spelled_from_the_root(self):
        self.expect_fault(
            "arrows.py",
            lambda: self.write("runtime/base/seeded.h", '#include "text.h"\n'),
            'runtime/base/seeded.h:1: includes "text.h"; spell it from the root',
        )

    def test_an_include_of_nothing(self):
        self.expect_fault(
            "arrows.py",
            lambda: self.write("runtime/base/seeded.h", '#include "runtime/base/no_such.h"\n'),
            '"runtime/base/no_such.h", which does not exist',
        )

    def test_ir_in_a_room_without(self):
        self.expect_fault(
            "ir_free.py",
            lambda: self.write("dialects/dist/layout.h", '#include "mlir/IR/Attributes.h"\n', "a"),
            "dialects/dist/layout.h -> mlir/IR/Attributes.h",
        )

    def test_ir_through_a_header(self):
        def plant():
            self.write("kernels/cpu/seeded.h", "#include <llvm/ADT/StringRef.h>\n")
            self.write("kernels/cpu/seeded.cpp", '#include "kernels/cpu/seeded.h"\n')
        self.expect_fault("ir_free.py", plant, "kernels/cpu/seeded.cpp -> kernels/cpu/seeded.h -> llvm/ADT/StringRef.h")

    def test_a_room_of_700_lines(self):
        self.expect_fault(
            "rooms.py",
            lambda: self.write("compiler/spec/seeded.cpp", "// line\n" * 700),
            "compiler/spec/seeded.cpp has 700 lines, at most 600",
        )

    def test_a_room_of_500_lines_only_warns(self):
        code_before, _ = run("rooms.py", self.root)
        self.write("compiler/spec/seeded.cpp", "// line\n" * 500)
        code, answer = run("rooms.py", self.root)
        self.assertEqual(code, code_before, answer)
        self.assertIn("warning: compiler/spec/seeded.cpp has 500 lines", answer)

    def test_an_op_without_its_tests(self):
        def plant():
            self.write(
                "dialects/graph/elementwise.td",
                'def Graph_SeededOp : Graph_PureOp<"seeded", "... -> ...", 1> {\n}\n', "a",
            )
            for name in ("ops", "invalid", "local"):
                self.write("test/dialects/graph/elementwise/%s.mlir" % name, "// graph.seeded\n", "a")
        self.expect_fault("completeness.py", plant, "graph.seeded has no gradient test in test/numerics/gradients")
        _, answer = run("completeness.py", self.root)
        self.assertNotIn("graph.seeded is not in", answer)
        self.write("test/numerics/gradients/seeded.mlir", "// graph.seeded\n")
        _, answer = run("completeness.py", self.root)
        self.assertNotIn("graph.seeded", answer)
        self.write("test/dialects/graph/elementwise/local.mlir", "// graph.seeded_other\n")
        _, answer = run("completeness.py", self.root)
        self.assertIn("graph.seeded is not in test/dialects/graph/elementwise/local.mlir", answer)

    def test_a_pass_without_its_tests(self):
        def plant():
            self.write(
                "passes/training/passes.td",
                'def SeededPass : Pass<"seeded-pass", "::mlir::ModuleOp"> {\n}\n', "a",
            )
            self.write("passes/training/seeded_pass.cpp", "\n")
            self.write("test/passes/training/seeded-pass.mlir", "// RUN" + ": true\n")
        self.expect_fault(
            "completeness.py", plant,
            "SeededPass has no test test/passes/training/seeded-pass-errors.mlir",
        )

    def test_a_kernel_without_its_function(self):
        self.expect_fault(
            "completeness.py",
            lambda: self.write("runtime/abi/kernels.def", "ECH_KERNEL(seeded_f32, IN(float))\n", "a"),
            "ech_seeded_f32 is not defined in kernels/cpu",
        )

    def test_an_empty_tree_fails_everywhere(self):
        for top in tree.TOP_FOLDERS:
            if top != "docs":
                shutil.rmtree(os.path.join(self.root, top), ignore_errors=True)
        for script in ("arrows.py", "ir_free.py", "rooms.py", "completeness.py"):
            code, answer = run(script, self.root)
            self.assertNotEqual(code, 0, script + " accepts an empty tree: " + answer)


if __name__ == "__main__":
    ROOT = os.path.abspath(tree.root_of_arguments())
    unittest.main(argv=[sys.argv[0]])
