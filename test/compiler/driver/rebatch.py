# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# A dump of the import phase is re-entered with another number of rows: the batch is a named dim through every op, so
# the step is the one that compiling for that number gives.
import os
import re
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import GOLDEN, CommandTest, main, read_file


def without_locations(path):
    """The IR's lines; rows may come from another file, and then only the places differ."""
    text = re.sub(r"(?m)^#loc.*\n", "", read_file(path).decode())
    return re.sub(r" ?loc\((?:#loc\d*|\"[^\"]*\"[^)]*)\)", "", text).splitlines()


class Rebatch(CommandTest):
    def check(self, model, *options):
        self.spec({})
        options = ["--train", "train.json", *options]
        self.compile(model, "import.mlir", *options, "--micro", 8, "--compile-to", "import")
        self.compile("import.mlir", "rebatched.mlir", *options, "--micro", 4, "--compile-from", "import",
                     "--compile-to", "training")
        self.compile(model, "direct.mlir", *options, "--micro", 4, "--compile-to", "training")
        rebatched = without_locations(self.path("rebatched.mlir"))
        self.assertGreater(len([line for line in rebatched if "graph." in line]), 100)
        self.assertEqual(rebatched, without_locations(self.path("direct.mlir")))

    def test_zoo_gpt(self):
        self.check(self.zoo("g.onnx", "gpt"))

    def test_zoo_gpt_with_dropout_and_tied_embeddings(self):
        self.check(self.zoo("g.onnx", "gpt", "--dropout", 0.1, "--tie"), "--set", "dropout=off")

    def test_zoo_llama(self):
        self.check(self.zoo("l.onnx", "llama"))

    def test_exports_with_dynamic_dims(self):
        for model, symbol in [("gpt2/sdpa_dynamo_dyn", "s21"), ("gpt2/eager_dynamo_raw", "s21"),
                              ("llama/eager_dynamo_dyn", "s21"),
                              ("llama_torchscript/eager_torchscript_nofold", "seq_input_ids")]:
            with self.subTest(model):
                self.check(os.path.join(GOLDEN, model + ".onnx"), "--set", "symbols.%s=12" % symbol)


if __name__ == "__main__":
    main()
