# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# Wrong token files and batches: `echelon train` ends with the exit code that docs/conventions.md gives it and one
# message that says what is wrong, where, and what to do, before the first step where the files' headers show it.
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from command import CommandTest, batch_tensors, main, read_file, write_file, write_safetensors
from protobuf import model, node, tensor, value_info


class Data(CommandTest):
    """`echelon train` ends as the binary that it becomes."""

    def setUp(self):
        super().setUp()
        self.zoo()
        self.spec({"batch": {"micro": 4}})
        self.tokens()

    def train_fails(self, code, texts, *words):
        self.run_words("rm", "-f", "m.train", "m.jsonl")
        err = self.fails(code, texts, "echelon", "train", "m.onnx", "--train", "train.json", *words, "--metrics",
                         "m.jsonl")
        self.assertFalse([name for name in os.listdir(self.folder) if ".tmp" in name or ".part-" in name])
        return err

    def test_token_files(self):
        write_file(self.path("empty.bin"), b"")
        write_file(self.path("short.bin"), struct.pack("<5H", *range(5)))
        write_file(self.path("odd.bin"), bytes(1001))
        for name, texts in (("missing.bin", ["No such file"]), ("empty.bin", ["is empty"]),
                            ("short.bin", ["has 5 tokens", "needs 9"]),
                            ("odd.bin", ["1001 bytes", "no whole number of uint16"])):
            with self.subTest(name):
                self.train_fails(1, [name, *texts], "--data", name, "--steps", 2)

    def test_a_token_beyond_the_vocabulary(self):
        write_file(self.path("t.bin"), struct.pack("<180H", *[i % 32 if i != 100 else 32 for i in range(180)]))
        self.train_fails(1, ["has value 32", "32)", "t.bin"], "--data", "t.bin", "--steps", 50)

    def test_no_data_or_both(self):
        self.train_fails(2, ["--data FILE or --batches FILE"])
        self.train_fails(2, ["--data needs --steps"], "--data", "t.bin")

    def test_a_model_that_takes_no_tokens(self):
        """Features are no tokens: the message sends to --batches."""
        write_file(self.path("m.onnx"), model(
            [node("MatMul", ["x", "w"], ["logits"], "head")],
            [tensor("w", [8, 32], struct.pack("<256f", *[0.01 * (i % 5) for i in range(256)]))],
            [value_info("x", ["batch", 8])], [value_info("logits", ["batch", 32])]))
        self.train_fails(1, ["'x'", "cannot be filled from a token file", "--batches"], "--data", "t.bin", "--steps", 1)

    def batches_fail(self, code, texts, *words, change=lambda t: None, steps=3, rows=4):
        tensors = batch_tensors(steps, rows)
        change(tensors)
        write_safetensors(self.path("b.safetensors"), tensors)
        self.train_fails(code, texts, "--batches", "b.safetensors", *words)
        self.assertFalse(os.path.exists(self.path("m.jsonl")), "a step ran")

    def test_batches_with_wrong_names(self):
        def renamed(old, new):
            return lambda tensors: tensors.update({new: tensors.pop(old)})
        self.batches_fail(1, ["input_idx", "input_ids"], change=renamed("0.input_ids", "0.input_idx"))
        self.batches_fail(1, ["'1.label'", "did you mean 'labels'"], change=renamed("1.labels", "1.label"))
        self.batches_fail(1, ["'labels' is not named <step>.<input>"], change=renamed("2.labels", "labels"))
        self.batches_fail(1, ["has no tensor"], change=lambda tensors: tensors.pop("2.labels"))
        self.batches_fail(1, ["no tensor of step 0"], change=lambda tensors: (
            tensors.pop("0.labels"), tensors.pop("0.input_ids")))

    def test_batches_with_wrong_shapes(self):
        self.batches_fail(1, ["0.labels", "[4,7]"], change=lambda tensors: tensors.update(
            {"0.labels": ("I64", [4, 7], [0] * 28)}))
        self.batches_fail(1, ["1.input_ids", "[4,9]"], change=lambda tensors: tensors.update(
            {"1.input_ids": ("I64", [4, 9], [0] * 36)}))
        self.batches_fail(1, ["6 rows", "batch.micro 4"], rows=6)
        self.batches_fail(1, ["rows"], "--micro", 3, rows=8)
        self.batches_fail(1, ["8 rows", "batch.accumulate 3"], "--accumulate", 3, rows=8)
        self.batches_fail(1, ["1.labels", "F32"], change=lambda tensors: tensors.update(
            {"1.labels": ("F32", [4, 8], [0.0] * 32)}))

    def test_too_few_batches(self):
        self.batches_fail(1, ["batches for 3 steps", "--steps asks for 4"], "--steps", 4)

    def test_files_that_hold_no_batches(self):
        write_safetensors(self.path("good"), batch_tensors(2, 4))
        good = read_file(self.path("good"))
        for label, content in (("empty", b""), ("text", b"hello, this is no tensor file"), ("cut", good[:-8]),
                               ("header", good[:40]), ("huge", struct.pack("<Q", 2 ** 62) + good[8:]),
                               ("json", struct.pack("<Q", 4) + b"{{{{")):
            with self.subTest(label):
                write_file(self.path("b.safetensors"), content)
                self.train_fails(1, ["b.safetensors"], "--batches", "b.safetensors")
        self.train_fails(1, ["nope.safetensors", "No such file"], "--batches", "nope.safetensors")

    def test_a_changed_weights_file(self):
        self.compile("m.onnx", "m.train", "--train", "train.json")
        data = bytearray(read_file(self.path("m.onnx")))
        program = json.loads(self.run_words("./m.train", "--print-program")[0])
        data[program["variables"][0]["file_offset"]] ^= 1
        write_file(self.path("m.onnx"), data)
        self.fails(1, ["m.onnx", "has changed"], "./m.train", "--data", "t.bin", "--steps", 1)
        os.remove(self.path("m.onnx"))
        self.fails(1, ["m.onnx", "--weights"], "./m.train", "--data", "t.bin", "--steps", 1)


if __name__ == "__main__":
    main()
