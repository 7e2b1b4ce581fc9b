# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# Files that are no model, or a broken or hostile one: each ends with exit code 1 and one message that says what is
# wrong and where; nothing crashes, nothing is half written.
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from command import CommandTest, main, read_file, write_file
from protobuf import INT64, model, node, tensor, value_info

TRUNCATIONS, MUTATIONS = 30, 200
HEAD = struct.pack("<256f", *[0.01 * (i % 7) for i in range(256)])  # [8, 32]


class BadModel(CommandTest):
    def refused(self, texts, *more, name="m.onnx"):
        before = set(os.listdir(self.folder))
        err = self.fails(1, texts, "echelon", "compile", name, "--micro", 2, *more, "-o", "m.train")
        self.assertEqual(set(os.listdir(self.folder)), before)
        return err

    def write(self, nodes=None, tensors=None, inputs=None, outputs=None, **more):
        """A lookup and a head, unless told otherwise."""
        write_file(self.path("m.onnx"), model(
            nodes or [node("Gather", ["table", "ids"], ["x"], "lookup"), node("MatMul", ["x", "w"], ["logits"], "head")],
            tensors or [tensor("table", [32, 8], HEAD), tensor("w", [8, 32], HEAD)],
            inputs or [value_info("ids", ["batch", 4], INT64)],
            outputs or [value_info("logits", ["batch", 4, 32])], **more))


class Files(BadModel):
    def test_the_base_compiles(self):
        """What the cases below break works as it is."""
        self.write()
        self.compile("m.onnx", "m.train", "--micro", 2)

    def test_no_model(self):
        self.refused(["No such file"], name="missing.onnx")
        write_file(self.path("m.onnx"), b"")
        self.refused(["empty"])
        os.mkdir(self.path("folder.onnx"))
        self.refused([], name="folder.onnx")
        for content in (b"hello, this is no model", b"\x00" * 4096, b"\xff" * 4096, b"{\"a\": 1}\n"):
            write_file(self.path("m.onnx"), content)
            self.refused([])

    def check_any(self, data, label):
        """Any outcome but a crash or a vague end."""
        write_file(self.path("bad.onnx"), data)
        process = self.start("echelon", "compile", "bad.onnx", "--micro", "2", "--compile-to", "training", "-o",
                             "bad.mlir")
        _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 1), "%s\n%s" % (label, err))
        if process.returncode == 1:
            lines = err.splitlines()
            self.assertTrue(lines and lines[0].startswith("error: "), "%s\n%s" % (label, err))
            self.assertNotIn("internal", err, label)
            self.assertFalse(os.path.exists(self.path("bad.mlir")), label)
        else:
            os.remove(self.path("bad.mlir"))
        self.assertFalse([name for name in os.listdir(self.folder) if ".part-" in name or ".tmp" in name], label)
        return process.returncode

    def test_truncated(self):
        self.zoo()
        data = read_file(self.path("m.onnx"))
        source = random.Random(7)
        for _ in range(TRUNCATIONS):
            size = source.randrange(len(data))
            self.assertEqual(self.check_any(data[:size], "%d of %d bytes" % (size, len(data))), 1)

    def test_flipped_bits(self):
        """Flips in weights train another model; flips elsewhere are found. Three quarters hit the structure."""
        self.zoo()
        data = read_file(self.path("m.onnx"))
        start = data.index(b"transformer.wte.weight") if b"transformer.wte.weight" in data else len(data) // 4
        found = 0
        for seed in range(MUTATIONS):
            source, mutated = random.Random(seed), bytearray(data)
            for _ in range(source.choice((1, 1, 2, 8))):
                place = source.randrange(start if seed % 4 else len(data))
                mutated[place] ^= 1 << source.randrange(8)
            found += self.check_any(bytes(mutated), "seed %d" % seed)
        self.assertGreater(found, MUTATIONS // 4)


class Graphs(BadModel):
    def test_a_cycle(self):
        self.write(nodes=[node("Gather", ["table", "ids"], ["x"], "lookup"), node("Add", ["x", "b"], ["a"], "first"),
                          node("Add", ["a", "x"], ["b"], "second"), node("MatMul", ["b", "w"], ["logits"], "head")])
        self.refused(["first"])

    def test_unknown_ops(self):
        """All of them at once, each with its node."""
        self.write(nodes=[node("Gather", ["table", "ids"], ["x"], "lookup"), node("Gelo", ["x"], ["a"], "strange"),
                          node("Foo", ["a"], ["b"], "stranger"), node("MatMul", ["b", "w"], ["logits"], "head")])
        self.refused(["Gelo", "strange", "Foo", "stranger"])

    def test_what_nothing_defines(self):
        self.write(nodes=[node("Gather", ["table", "ids"], ["x"], "lookup"),
                          node("MatMul", ["x", "nowhere"], ["logits"], "head")])
        self.refused(["nowhere", "head"])
        self.write(outputs=[value_info("other", ["batch", 4, 32])])
        self.refused(["other"])
        self.write(nodes=[node("Gather", ["table", "ids"], ["x"], "lookup"), node("Relu", ["x"], ["x"], "again"),
                          node("MatMul", ["x", "w"], ["logits"], "head")])
        self.refused(["'x'"])

    def test_shapes(self):
        self.write(tensors=[tensor("table", [32, 8], HEAD), tensor("w", [8, 31], HEAD)])
        self.refused(["'w'", "1024", "992"])  # 256 x 4 bytes are there, 8 x 31 x 4 should be
        self.write(tensors=[tensor("table", [32, 8], HEAD), tensor("w", [16, 16], HEAD)])
        self.refused(["head", "8", "16"])
        self.write(tensors=[tensor("table", [32, 8], HEAD), tensor("w", [-8, -32], HEAD)])
        self.refused(["'w'"])
        self.write(tensors=[tensor("table", [32, 8], HEAD), tensor("w", [2 ** 40, 2 ** 40], HEAD)])
        self.refused(["'w'"])

    def test_versions(self):
        for opset in (6, 99):
            self.write(opset=opset)
            self.refused(["opset", str(opset)])

    def test_unbound_symbols_are_listed(self):
        self.write(inputs=[value_info("ids", ["batch", "length"], INT64), value_info("mask", ["batch", "width"])],
                   outputs=[value_info("logits", ["batch", "length", 32])])
        before = os.listdir(self.folder)
        err = self.fails(1, ["'length'", "dim 1 of input 'ids'", "symbols"], "echelon", "compile", "m.onnx", "-o",
                         "m.train")
        self.assertIn("'width'", err)
        self.assertEqual(os.listdir(self.folder), before)

    def test_a_symbol_of_two_sizes_or_of_none(self):
        self.write(inputs=[value_info("ids", ["batch", "length"], INT64)],
                   outputs=[value_info("logits", ["batch", "length", 32])])
        self.refused(["lenght", "no dim"], "--set", "symbols.lenght=4", "--set", "symbols.length=4")


class External(BadModel):
    def test_it_works(self):
        write_file(self.path("w.bin"), HEAD)
        self.refer({"location": "w.bin", "offset": 0, "length": 1024})
        self.compile("m.onnx", "m.train", "--micro", 2)

    def refer(self, external):
        self.write(tensors=[tensor("table", [32, 8], HEAD), tensor("w", [8, 32], external=external)])

    def test_a_missing_file(self):
        self.refer({"location": "w.bin"})
        self.refused(["w.bin", "No such file"])

    def test_a_way_out_of_the_folder(self):
        """By dots, by an absolute path, by a link: a model may not read files that are not its own."""
        os.mkdir(self.path("models"))
        write_file(self.path("secret.bin"), HEAD)
        for location in ("../secret.bin", "a/../../secret.bin", self.path("secret.bin"), "/etc/passwd", "link.bin",
                         "linked/secret.bin"):
            with self.subTest(location):
                self.refer({"location": location})
                os.replace(self.path("m.onnx"), self.path("models/m.onnx"))
                for link, target in (("link.bin", "../secret.bin"), ("linked", "..")):
                    if not os.path.islink(self.path("models", link)):
                        os.symlink(target, self.path("models", link))
                self.refused(["'w'"], name="models/m.onnx")

    def test_data_that_is_not_there(self):
        write_file(self.path("w.bin"), HEAD)
        for external, texts in (({"location": "w.bin", "offset": 4}, ["w.bin"]),
                                ({"location": "w.bin", "offset": 0, "length": 1020}, ["1020"]),
                                ({"location": "w.bin", "offset": -4}, ["offset"]),
                                ({"location": "w.bin", "offset": 2 ** 63}, ["offset"]),
                                ({"location": "w.bin", "length": "many"}, ["length", "many"]),
                                ({"offset": 0}, ["location"]),
                                ({"location": ""}, ["location"])):
            with self.subTest(str(external)):
                self.refer(external)
                self.refused(["'w'", *texts])

    def test_overlapping_data(self):
        write_file(self.path("w.bin"), HEAD + HEAD)
        self.write(tensors=[tensor("table", [32, 8], external={"location": "w.bin", "offset": 0}),
                            tensor("w", [8, 32], external={"location": "w.bin", "offset": 512})])
        self.refused(["'w'", "overlap"])

    def test_no_regular_file(self):
        os.mkfifo(self.path("w.bin"))
        self.refer({"location": "w.bin"})
        self.refused(["w.bin"])


if __name__ == "__main__":
    main()
