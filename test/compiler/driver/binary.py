# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# What the training binary is made of: it is small, starts at once, and asks the machine for the C library only; the
# compiled program asks the runtime for the contract only.
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import SCHEDULED, CommandTest, main, read_file

# All of these are glibc.
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}


class Binary(CommandTest):
    def setUp(self):
        super().setUp()
        self.zoo()
        self.spec(SCHEDULED)
        self.compile("m.onnx", "m.train", "--train", "train.json", "--check-numerics")

    def skip_if_sanitized(self):
        if b"__asan_" in read_file(self.path("m.train")) or b"__tsan_" in read_file(self.path("m.train")):
            self.skipTest("sanitizers are linked in")

    def test_small(self):
        self.skip_if_sanitized()
        self.assertLessEqual(os.stat(self.path("m.train")).st_size, 1 << 20)

    def test_only_the_c_library_is_dynamic(self):
        self.skip_if_sanitized()
        out, _ = self.run_words("readelf", "-d", "m.train")
        needed = {line.split("[")[1].split("]")[0] for line in out.splitlines() if "(NEEDED)" in line}
        self.assertIn("libc.so.6", needed)
        self.assertLessEqual(needed, LIBRARIES)
        # No text of a machine's own paths, no compiler inside.
        binary = read_file(self.path("m.train"))
        for text in (self.folder.encode(), b"libLLVM", b"libMLIR", b"GLIBCXX"):
            self.assertNotIn(text, binary)

    def test_the_program_needs_only_the_contract(self):
        """The object is gone after linking, so the linker is replaced by one that keeps it."""
        os.mkdir(self.path("tools"))
        real = subprocess.run(["which", "g++"], stdout=subprocess.PIPE, text=True).stdout.strip()
        script = "#!/bin/sh\nfor word; do case $word in *.tmp.o) cp \"$word\" %s;; esac; done\nexec %s \"$@\"\n"
        for name in ("g++", "clang++-19"):
            with open(self.path("tools", name), "w") as file:
                file.write(script % (self.path("program.o"), real))
            os.chmod(self.path("tools", name), 0o755)
        path = self.path("tools") + os.pathsep + os.environ["PATH"]
        for flags in ([], ["--check-numerics"]):
            self.compile("m.onnx", "kept.train", "--train", "train.json", *flags, env={"PATH": path})
            out, _ = self.run_words("nm", "-u", "program.o")
            undefined = {line.split()[-1] for line in out.splitlines()}
            os.remove(self.path("program.o"))
            self.assertTrue(any(name.startswith("ech_") for name in undefined))
            self.assertEqual({name for name in undefined if not name.startswith("ech_")} -
                             {"memcpy", "memset", "memmove"}, set())

    def test_starts_at_once(self):
        """Best of three, because the machine may be loaded; a bound on the order of magnitude, not a benchmark."""
        self.tokens()
        best = 1e9
        for _ in range(3):
            start = time.monotonic()
            self.run_words("./m.train", "--data", "t.bin", "--steps", 1)
            best = min(best, time.monotonic() - start)
        self.assertLess(best, 0.3)

    def test_moves_with_its_weights(self):
        self.tokens()
        os.mkdir(self.path("elsewhere"))
        for name in ("m.train", "m.onnx"):
            os.rename(self.path(name), self.path("elsewhere", name))
        self.run_words("elsewhere/m.train", "--data", "t.bin", "--steps", 1)


if __name__ == "__main__":
    main()
