# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# A step's loss is a sum over rows and a count, each taken once: how the rows are cut into microbatches changes nothing
# but the order of sums.
import os
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import SCHEDULED, CommandTest, batch_tensors, main, write_safetensors

CUTS = ((8, 1), (4, 2), (2, 4), (1, 8))


class Accumulate(CommandTest):
    def check(self, source, family):
        self.zoo("m.onnx", family)
        self.spec({**SCHEDULED, "batch": {}})
        results = []
        for micro, accumulate in CUTS:
            self.compile("m.onnx", "m.train", "--train", "train.json", "--micro", micro, "--accumulate", accumulate)
            self.run_words("./m.train", *source, "--metrics", "m.jsonl")
            results.append([(line["loss"], line["grad_norm"], line["tokens"]) for line in self.lines("m.jsonl")])
        self.assertEqual(len(results[0]), 6)
        for other in results[1:]:
            for (loss, norm, tokens), (wanted, wanted_norm, wanted_tokens) in zip(other, results[0]):
                self.assertLess(abs(loss / wanted - 1), 1e-6)
                self.assertLess(abs(norm / wanted_norm - 1), 1e-5)
                self.assertEqual(tokens, wanted_tokens)

    def test_token_files(self):
        self.tokens()
        self.check(["--data", "t.bin", "--steps", 6], "gpt")

    def test_batches_with_ignored_labels(self):
        """A fifth of the labels does not count, not equally many in each microbatch: a mean of means would differ."""
        write_safetensors(self.path("b.safetensors"), batch_tensors(6, 8))
        self.check(["--batches", "b.safetensors"], "llama")

    def test_the_flag_of_the_binary_is_the_flag_of_the_compiler(self):
        self.zoo()
        self.spec(SCHEDULED)
        self.tokens()
        self.compile("m.onnx", "one.train", "--train", "train.json")
        self.compile("m.onnx", "two.train", "--train", "train.json", "--accumulate", 2)
        for binary, more in (("./one.train", ["--accumulate", 2]), ("./two.train", [])):
            self.run_words(binary, "--data", "t.bin", "--steps", 4, *more, "--metrics", binary + ".jsonl")
        self.assertEqual(self.losses("one.train.jsonl"), self.losses("two.train.jsonl"))


if __name__ == "__main__":
    main()
