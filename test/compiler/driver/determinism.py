# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# Equal inputs give equal bytes: of the binary, wherever the command runs, and of what the binary computes, on any
# number of threads.
import os
import shutil
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import SCHEDULED, CommandTest, main, read_file


class Determinism(CommandTest):
    def test_two_compilations_give_the_same_bytes(self):
        for family in ("gpt", "llama"):
            with self.subTest(family):
                self.zoo("m.onnx", family)
                self.spec(SCHEDULED)
                for output in ("a.train", "b.train"):
                    self.compile("m.onnx", output, "--train", "train.json")
                self.assertEqual(read_file(self.path("a.train")), read_file(self.path("b.train")))

    def test_the_place_does_not_matter(self):
        """The same layout in another folder, named by relative and by absolute paths."""
        self.zoo()
        self.spec(SCHEDULED)
        for folder in ("one", "another/deeper"):
            os.makedirs(self.path(folder, "models"))
            shutil.copy(self.path("m.onnx"), self.path(folder, "models", "m.onnx"))
            shutil.copy(self.path("train.json"), self.path(folder, "train.json"))
        self.compile("models/m.onnx", "m.train", "--train", "train.json", cwd=self.path("one"))
        deeper = self.path("another/deeper")
        self.compile(os.path.join(deeper, "models/m.onnx"), os.path.join(deeper, "m.train"), "--train",
                     os.path.join(deeper, "train.json"))
        binary = read_file(self.path("one/m.train"))
        self.assertEqual(binary, read_file(os.path.join(deeper, "m.train")))
        self.assertNotIn(self.folder.encode(), binary)

    def test_the_model_files_are_equal_too(self):
        for name in ("a.onnx", "b.onnx"):
            self.zoo(name)
        self.assertEqual(read_file(self.path("a.onnx")), read_file(self.path("b.onnx")))

    def test_threads_change_no_bit(self):
        self.zoo()
        self.spec(SCHEDULED)
        self.tokens()
        self.compile("m.onnx", "m.train", "--train", "train.json", "--accumulate", 2)
        seen = set()
        for threads in (1, 2, 3):
            out = "run%d" % threads
            self.run_words("./m.train", "--data", "t.bin", "--steps", 8, "--threads", threads, "--metrics",
                           "m.jsonl", "--out", out)
            seen.add((tuple((line["loss"], line["grad_norm"]) for line in self.lines("m.jsonl")),
                      read_file(self.path(out, "latest", "model.safetensors")),
                      read_file(self.path(out, "latest", "optimizer.safetensors"))))
        self.assertEqual(len(seen), 1)


if __name__ == "__main__":
    main()
