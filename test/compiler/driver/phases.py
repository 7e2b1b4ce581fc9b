# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# The IR between phases is a place to stop and to start again: dumps are complete, what is compiled from one equals what
# is compiled in one go, and options that a dump has already settled are refused, not ignored.
import os
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import PHASES, SCHEDULED, CommandTest, main, read_file, write_file


class Reentry(CommandTest):
    def setUp(self):
        super().setUp()
        self.zoo()
        self.spec(SCHEDULED)
        self.train = ["--train", "train.json"]

    def dump(self, phase):
        return "dumps/m.%d.%s.mlir" % (PHASES.index(phase), phase)

    def test_a_dump_of_each_phase_gives_the_same_binary(self):
        self.compile("m.onnx", "m.train", *self.train, "--dump-to", "dumps")
        self.assertEqual(sorted(os.listdir(self.path("dumps"))), [os.path.basename(self.dump(p)) for p in PHASES])
        whole = read_file(self.path("m.train"))
        for phase in PHASES:
            with self.subTest(phase):
                self.compile(self.dump(phase), "again.train", *self.train, "--compile-from", phase)
                self.assertEqual(read_file(self.path("again.train")), whole)

    def test_stopping_after_each_phase_writes_what_the_dump_has(self):
        self.compile("m.onnx", "m.train", *self.train, "--dump-to", "dumps")
        os.mkdir(self.path("stops"))  # a sibling: the way to the weights is the same
        for phase in PHASES:
            with self.subTest(phase):
                self.compile("m.onnx", "stops/x.mlir", *self.train, "--compile-to", phase)
                self.assertEqual(read_file(self.path("stops/x.mlir")), read_file(self.path(self.dump(phase))))

    def test_phases_one_by_one_give_the_same_binary(self):
        self.compile("m.onnx", "m.train", *self.train)
        self.compile("m.onnx", "0.mlir", *self.train, "--compile-to", "import")
        for index, (before, phase) in enumerate(zip(PHASES, PHASES[1:])):
            self.compile("%d.mlir" % index, "%d.mlir" % (index + 1), *self.train, "--compile-from", before,
                         "--compile-to", phase)
        self.compile("5.mlir", "steps.train", *self.train, "--compile-from", "lowering")
        self.assertEqual(read_file(self.path("steps.train")), read_file(self.path("m.train")))

    def test_weights_are_found_from_a_dump_elsewhere(self):
        os.makedirs(self.path("a/b"))
        self.compile("m.onnx", "a/b/x.mlir", *self.train, "--compile-to", "training")
        self.compile("x.mlir", "../x.train", "--train", self.path("train.json"), "--compile-from", "training",
                     cwd=self.path("a/b"))
        self.tokens()
        self.run_words("a/x.train", "--data", "t.bin", "--steps", 1, "--metrics", "x.jsonl")
        self.compile("m.onnx", "m.train", *self.train)
        self.run_words("./m.train", "--data", "t.bin", "--steps", 1, "--metrics", "m.jsonl")
        self.assertEqual(self.losses("x.jsonl"), self.losses("m.jsonl"))

    def test_inspect_of_a_dump_is_inspect_of_the_model(self):
        self.compile("m.onnx", "m.train", *self.train, "--dump-to", "dumps")

        def shown(*words):
            out, _ = self.echelon("inspect", *words, *self.train)
            return out[out.index("@"):]  # what the importer reports is gone in a dump
        whole = shown("m.onnx")
        for phase in PHASES[:-1]:
            with self.subTest(phase):
                self.assertEqual(shown(self.dump(phase), "--compile-from", phase), whole)
        self.fails(1, ["lowering", "fusion phase"], "echelon", "inspect", self.dump("lowering"), "--compile-from",
                   "lowering", *self.train)

    def test_train_goes_on_from_a_dump(self):
        """Both halves of `echelon train`, and the commands that it prints, do the same."""
        self.compile("m.onnx", "m.train", *self.train, "--dump-to", "dumps")
        self.tokens()
        self.run_words("./m.train", "--data", "t.bin", "--steps", 2, "--metrics", "m.jsonl")
        _, err = self.echelon("train", self.dump("fusion"), *self.train, "--compile-from", "fusion", "--data", "t.bin",
                              "--steps", 2, "--metrics", "n.jsonl", "-o", "n.train")
        self.assertEqual(self.losses("n.jsonl"), self.losses("m.jsonl"))
        printed = [line for line in err.splitlines() if line.startswith("echelon compile")][0]
        self.run_words(*printed.replace("n.train", "p.train").split())
        self.assertEqual(read_file(self.path("p.train")), read_file(self.path("m.train")))
        self.fails(2, ["unknown flag --compile-to"], "echelon", "train", "m.onnx", "--compile-to", "fusion")

    def refuse(self, texts, phase, *more):
        self.fails(1, texts, "echelon", "compile", self.dump(phase), *self.train, "--compile-from", phase, *more,
                   "-o", "bad.train")
        self.assertFalse(os.path.exists(self.path("bad.train")))

    def test_settled_options_are_refused(self):
        self.compile("m.onnx", "m.train", *self.train, "--dump-to", "dumps")
        self.refuse(["microbatches of 4 rows", "batch.micro is 2", "import phase"], "training", "--micro", 2)
        self.refuse(["accumulates 1", "batch.accumulate is 3", "earlier phase"], "fusion", "--accumulate", 3)
        self.refuse(["past the place of --check-numerics", "fusion phase"], "lowering", "--check-numerics")
        self.refuse(["--compile-to training is not after --compile-from fusion"], "fusion", "--compile-to", "training")

    def test_a_dump_of_another_phase_or_no_dump(self):
        self.compile("m.onnx", "m.train", *self.train, "--dump-to", "dumps")
        text = read_file(self.path(self.dump("import")))
        os.rename(self.path(self.dump("import")), self.path(self.dump("training")))
        self.refuse(["as a dump of the training phase"], "training")
        os.rename(self.path(self.dump("lowering")), self.path(self.dump("fusion")))
        self.refuse(["as a dump of the fusion phase"], "fusion")
        for content in (b"", b"hello", text[:len(text) // 2]):
            write_file(self.path(self.dump("import")), content)
            self.refuse(["as a dump of the import phase"], "import")
        os.remove(self.path(self.dump("import")))
        self.refuse(["as a dump of the import phase"], "import")


if __name__ == "__main__":
    main()
