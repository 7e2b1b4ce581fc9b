# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# Wrong flags, specs and outputs (bad_data.py has data, bad_models.py models): each ends with the exit code that docs/conventions.md gives it and one message
# that says what is wrong, where, and what to do; nothing half written stays.
import os
import resource
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import GOLDEN, SCHEDULED, TINY, CommandTest, main, read_file, write_file


def limit_file_size(count):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (count, count))


class Bad(CommandTest):
    def refused(self, code, texts, *words, **more):
        """As fails(), and no file came or went."""
        before = sorted(os.listdir(self.folder))
        err = self.fails(code, texts, *words, **more)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return err


class Usage(Bad):
    def test_commands_and_flags(self):
        for texts, words in [
                (["unknown command \"trian\"", "did you mean 'train'"], ["trian"]),
                (["unknown flag --trian", "did you mean '--train'"], ["compile", "m.onnx", "--trian", "t"]),
                (["unknown flag --step", "did you mean '--steps'"], ["train", "m.onnx", "--step", "3"]),
                (["unknown flag --layer", "did you mean '--layers'"], ["zoo", "gpt", "--layer", "3", "-o", "m"]),
                (["unknown family \"gtp\"", "did you mean 'gpt'"], ["zoo", "gtp", "-o", "m"]),
                (["unknown verb \"tokenise\"", "did you mean 'tokenize'"], ["data", "tokenise"]),
                (["--compile-to", "\"trainig\"", "did you mean 'training'"],
                 ["compile", "m.onnx", "--compile-to", "trainig", "-o", "x"]),
                (["--compile-from", "\"fussion\"", "did you mean 'fusion'"],
                 ["inspect", "m.onnx", "--compile-from", "fussion"]),
                (["-o is missing"], ["compile", "m.onnx"]),
                (["MODEL.onnx is missing"], ["compile", "-o", "x"]),
                (["unexpected argument \"n.onnx\""], ["compile", "m.onnx", "n.onnx", "-o", "x"]),
                (["--micro expects an integer, not \"four\""], ["compile", "m.onnx", "--micro", "four", "-o", "x"]),
                (["--micro is 0, but must be in [1"], ["compile", "m.onnx", "--micro", "0", "-o", "x"]),
                (["--train needs a value"], ["compile", "m.onnx", "-o", "x", "--train"]),
                (["--seed is given twice"], ["compile", "m.onnx", "--seed", "1", "--seed=2", "-o", "x"])]:
            with self.subTest(" ".join(words)):
                self.refused(2, texts, "echelon", *words)

    def test_no_command_shows_the_help(self):
        out, err = self.run_words("echelon", code=2)
        self.assertIn("compile", out + err)

    def test_sizes_that_do_not_fit(self):
        self.refused(1, ["--hidden", "10", "--heads", "4"], "echelon", "zoo", "gpt", "--hidden", 10, "--heads", 4, "-o",
                     "m.onnx")

    def test_an_unknown_cpu(self):
        self.zoo()
        self.refused(1, ["--target-cpu", "'i999'"], "echelon", "compile", "m.onnx", "--micro", 2, "--target-cpu", "i999",
                     "-o", "x")


class Spec(Bad):
    def setUp(self):
        super().setUp()
        self.zoo()

    def spec_fails(self, content, texts, model="m.onnx"):
        if isinstance(content, dict):
            self.spec(content)
        else:
            write_file(self.path("train.json"), content)
        return self.refused(1, texts, "echelon", "compile", model, "--train", "train.json", "--micro", 4, "-o", "x")

    def test_keys_and_values(self):
        self.spec_fails(b'{\n  "optimiser": {"lr": 1}\n}', ["train.json:2:", "optimiser", "did you mean 'optimizer'"])
        self.spec_fails({"optimizer": {"learning_rate": 1}}, ["optimizer.learning_rate is not a known key"])
        self.spec_fails({"loss": {"kind": "cross_entrop"}}, ["loss.kind", "did you mean 'cross_entropy'"])
        self.spec_fails({"optimizer": {"lr": "fast"}}, ["optimizer.lr expects a number"])
        self.spec_fails({"batch": {"micro": -1}}, ["batch.micro is -1"])
        self.spec_fails({"optimizer": {"schedule": {"kind": "cosine"}}}, ["total_steps"])
        self.spec_fails(b'{"seed": 1,}', ["train.json:1:"])
        self.spec_fails(b"", ["train.json"])

    def test_all_faults_at_once(self):
        err = self.spec_fails({"sed": 1, "optimizer": {"lr": -1}}, ["sed", "optimizer.lr is -1"])
        self.assertEqual(err.count("error: "), 2)

    def test_later_steps_are_refused_by_name(self):
        for key, value in (("optimizer.kind", "sgd"), ("loss.kind", "mse"), ("precision.compute", "bf16")):
            first, second = key.split(".")
            self.spec_fails({first: {second: value}}, [key, value, "later step"])

    def test_names_that_the_model_lacks(self):
        self.spec_fails({"loss": {"logits": "scores"}}, ["loss.logits", "'scores'", "outputs are 'logits'"])
        self.spec_fails({"loss": {"from_output": "loss"}}, ["loss.from_output", "'loss'", "outputs are 'logits'"])
        self.spec_fails({"loss": {"from_output": "logits"}}, ["loss.from_output", "must be a float scalar"])
        self.spec_fails({"loss": {"labels": "input_ids", "logits": "logit"}}, ["'logit'"])
        self.spec_fails({"parameters": {"frozen": ["*.gamma"]}}, ["parameters.frozen", "'*.gamma'"])
        self.spec_fails({"optimizer": {"no_decay": ["*.gamma"]}}, ["optimizer.no_decay", "'*.gamma'"])
        self.spec_fails({"symbols": {"sequence": 4}}, ["'sequence'", "no dim"])

    def test_nothing_to_train(self):
        self.spec_fails({"parameters": {"frozen": ["*"]}}, ["does not depend on any trainable parameter"])

    def test_a_spec_that_is_not_there(self):
        self.refused(1, ["nope.json", "No such file"], "echelon", "compile", "m.onnx", "--train", "nope.json", "-o", "x")

    def test_a_batch_that_nothing_gives(self):
        self.refused(1, ["'batch'", "batch.micro"], "echelon", "compile", "m.onnx", "-o", "x")


class Outputs(Bad):
    def setUp(self):
        super().setUp()
        self.zoo()
        self.spec(SCHEDULED)
        self.tokens()

    def test_places_where_nothing_can_be_written(self):
        os.mkdir(self.path("folder"))
        write_file(self.path("file"), b"x")
        for output, texts in (("no/such/x", ["'no/such/x'", "No such file"]), ("folder", ["'folder'"]),
                              ("file/x", ["'file/x'"])):
            with self.subTest(output):
                compile = ["compile", "m.onnx", "--train", "train.json", "-o", output]
                self.refused(74, texts, "echelon", *compile)
                self.refused(74, texts, "echelon", *compile, "--compile-to", "training")
                self.refused(74, texts, "echelon", "zoo", "gpt", *TINY["gpt"], "-o", output)
                self.refused(74, texts, "echelon", "data", "tokenize", "--bytes", "train.json", "-o", output)
        self.refused(74, ["'file"], "echelon", "compile", "m.onnx", "--train", "train.json", "--dump-to", "file", "-o",
                     "x")

    def test_a_full_disk_while_compiling(self):
        """The object, then the binary does not fit; what stood at the output stays."""
        self.compile("m.onnx", "m.train", "--train", "train.json")
        before = read_file(self.path("m.train"))
        for size in (0, 4096, 100_000, 400_000):
            with self.subTest(size):
                self.refused(74, ["'m.train'"], "echelon", "compile", "m.onnx", "--train", "train.json", "--seed", 3,
                             "-o", "m.train", preexec_fn=limit_file_size(size))
                self.assertEqual(read_file(self.path("m.train")), before)
        self.refused(74, ["'x.mlir'"], "echelon", "compile", "m.onnx", "--train", "train.json", "--compile-to",
                     "training", "-o", "x.mlir", preexec_fn=limit_file_size(4096))
        self.refused(74, ["'z.onnx'"], "echelon", "zoo", "gpt", *TINY["gpt"], "-o", "z.onnx",
                     preexec_fn=limit_file_size(4096))
        self.refused(74, ["'z.bin'"], "echelon", "data", "tokenize", "--bytes", "m.onnx", "-o", "z.bin",
                     preexec_fn=limit_file_size(4096))

    def test_a_full_disk_while_saving(self):
        """The old checkpoint stays whole, and the run continues from it when there is room again."""
        self.compile("m.onnx", "m.train", "--train", "train.json")
        words = ["./m.train", "--data", "t.bin", "--out", "run"]
        self.run_words(*words, "--steps", 3)
        latest = {name: read_file(self.path("run/latest", name)) for name in os.listdir(self.path("run/latest"))}
        self.assertEqual(len(latest), 3)
        for size in (0, 1000, 20_000):
            with self.subTest(size):
                self.fails(74, ["run/step-000006"], *words, "--steps", 6, "--resume", "run",
                           preexec_fn=limit_file_size(size))
                self.assertEqual(sorted(os.listdir(self.path("run"))), ["latest", "step-000003"])
                for name, data in latest.items():
                    self.assertEqual(read_file(self.path("run/latest", name)), data)
        self.run_words(*words, "--steps", 6, "--resume", "run")
        self.run_words("./m.train", "--data", "t.bin", "--out", "whole", "--steps", 6)
        for name in ("model.safetensors", "optimizer.safetensors"):
            self.assertEqual(read_file(self.path("run/latest", name)), read_file(self.path("whole/latest", name)))

    def test_outputs_of_a_run_that_cannot_be_written(self):
        self.compile("m.onnx", "m.train", "--train", "train.json")
        write_file(self.path("file"), b"x")
        for flag, place in (("--metrics", "no/m.jsonl"), ("--gradient-norms", "no/g.json"), ("--out", "file/run")):
            with self.subTest(flag):
                self.refused(74, [place], "./m.train", "--data", "t.bin", "--steps", 1, flag, place)

    def test_a_baked_batch_is_rewritten(self):
        """An export with four rows trains with two; its labels are made to fit."""
        self.spec({"batch": {"micro": 2}})
        self.compile(os.path.join(GOLDEN, "gpt2/sdpa_dynamo.onnx"), "g.train", "--train", "train.json")


if __name__ == "__main__":
    main()
