# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
"""The last line of tools/test.sh counts honestly: tools/count_tests.py on made-up lit results."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree

ROOT = ""


class Counting(unittest.TestCase):
    def answer(self, codes, lit_code, text=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.json")
            if codes is not None:
                tests = [{"name": "t%d" % i, "code": code} for i, code in enumerate(codes)]
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text if text is not None else json.dumps({"tests": tests}))
            done = subprocess.run(
                [sys.executable, os.path.join(ROOT, "tools/count_tests.py"), path, str(lit_code)],
                stdout=subprocess.PIPE, text=True, check=False,
            )
        return done.returncode, done.stdout.splitlines()[-1]

    def test_all_passed(self):
        self.assertEqual(self.answer(["PASS", "PASS"], 0), (0, "2 passed, 0 failed"))

    def test_what_is_not_run_is_not_passed(self):
        self.assertEqual(self.answer(["PASS", "UNSUPPORTED", "SKIPPED"], 0), (0, "1 passed, 0 failed"))

    def test_every_other_code_is_a_failure(self):
        codes = ["PASS", "FAIL", "XFAIL", "XPASS", "UNRESOLVED", "TIMEOUT"]
        self.assertEqual(self.answer(codes, 1), (1, "1 passed, 5 failed"))

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.answer([], 0), (1, "0 passed, 1 failed"))
        self.assertEqual(self.answer(["UNSUPPORTED"], 0), (1, "0 passed, 1 failed"))

    def test_a_lit_that_broke_is_a_failure(self):
        self.assertEqual(self.answer(["PASS"], 2), (1, "1 passed, 1 failed"))
        self.assertEqual(self.answer(None, 2), (1, "0 passed, 1 failed"))
        self.assertEqual(self.answer([], 0, "{not json"), (1, "0 passed, 1 failed"))


if __name__ == "__main__":
    ROOT = os.path.abspath(tree.root_of_arguments())
    unittest.main(argv=[sys.argv[0]])
