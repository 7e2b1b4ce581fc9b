// SPDX-License-Identifier: Apache-2.0
//
// Bad models: each one gives one message that says what and where.
#include "test/compiler/onnx/model_builder.h"
#include "llvm/Support/FileSystem.h"

namespace echelon::test {
namespace {

ModelBuilder identity() {
  ModelBuilder b;
  b.input("x", {2, 2});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  return b;
}

std::string errorOf(const onnx::ModelProto &model,
                    const ImportOptions &options = {}) {
  Imported m(model, options);
  EXPECT_FALSE(m.good());
  return m.error;
}

TEST(OnnxRefusals, MissingFileFolderAndEmptyFile) {
  Imported missing("/nonexistent/m.onnx");
  EXPECT_EQ(missing.error, "cannot read model '/nonexistent/m.onnx': No such "
                           "file or directory");
  std::string folder = temporaryFolder();
  EXPECT_NE(Imported(folder).error.find("is a folder"), std::string::npos);
  writeText(folder + "/e.onnx", "");
  EXPECT_NE(Imported(folder + "/e.onnx").error.find("is empty"),
            std::string::npos);
  llvm::sys::fs::remove_directories(folder);
}

TEST(OnnxRefusals, TruncatedFile) {
  std::string bytes = identity().model.SerializeAsString();
  std::string folder = temporaryFolder();
  writeText(folder + "/t.onnx", bytes.substr(0, bytes.size() - 3));
  EXPECT_NE(Imported(folder + "/t.onnx").error.find("not a complete ONNX file"),
            std::string::npos);
  llvm::sys::fs::remove_directories(folder);
}

TEST(OnnxRefusals, Versions) {
  ModelBuilder newOpset(26);
  newOpset.node("Relu", {"x"}, {"y"});
  newOpset.input("x", {1});
  newOpset.output("y");
  EXPECT_NE(
      errorOf(newOpset.model).find("uses opset 26; supported are 7 to 25"),
      std::string::npos);
  ModelBuilder newIr = identity();
  newIr.model.set_ir_version(15);
  EXPECT_NE(errorOf(newIr.model).find("IR version 15"), std::string::npos);
}

TEST(OnnxRefusals, CycleDuplicateAndUndefinedValues) {
  ModelBuilder cycle;
  cycle.input("x", {2});
  cycle.node("Add", {"x", "b"}, {"a"});
  cycle.node("Relu", {"a"}, {"b"});
  cycle.output("b");
  EXPECT_EQ(errorOf(cycle.model),
            "node \"a_node\" (model.onnx, node 0) stands on a cycle of 2 nodes "
            "that wait for each other's results");
  ModelBuilder twice = identity();
  twice.node("Relu", {"x"}, {"y"}, "again");
  EXPECT_NE(errorOf(twice.model).find("defines value 'y'"), std::string::npos);
  ModelBuilder undefined;
  undefined.input("x", {2});
  undefined.node("Add", {"x", "ghost"}, {"y"});
  undefined.output("y");
  EXPECT_NE(errorOf(undefined.model).find("reads value 'ghost'"),
            std::string::npos);
}

TEST(OnnxRefusals, AllUnsupportedOpsAtOnce) {
  ModelBuilder b;
  b.input("x", {2, 2});
  b.node("NonZero", {"x"}, {"a"}, "first");
  b.node("FancyOp", {"x"}, {"c"}, "second");
  b.node("Add", {"a", "c"}, {"y"});
  b.output("y");
  std::string error = errorOf(b.model);
  EXPECT_NE(error.find("op NonZero is not supported: node \"first\""),
            std::string::npos);
  EXPECT_NE(error.find("op FancyOp is not supported: node \"second\""),
            std::string::npos);
}

TEST(OnnxRefusals, WrongShapesNameTheNode) {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.initializer("w", {4, 5}, Floats(20, 1));
  b.node("MatMul", {"x", "w"}, {"y"}, "h.0/attn/MatMul");
  b.output("y");
  EXPECT_EQ(errorOf(b.model),
            "node \"h.0/attn/MatMul\" (model.onnx, node 0): MatMul cannot "
            "multiply shapes [2, 3] and [4, 5]");
}

TEST(OnnxRefusals, DeclaredOutputThatTheGraphContradicts) {
  ModelBuilder b = identity();
  auto &type =
      *b.graph.mutable_output(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_value(7);
  EXPECT_EQ(errorOf(b.model), "output 'y' is declared as [7], but the graph "
                              "computes [2, 2]");
}

TEST(OnnxRefusals, UnboundSymbolsAreListed) {
  ModelBuilder b;
  b.input("x", {-1, -1});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  std::string error = errorOf(b.model);
  EXPECT_NE(error.find("'x_0': dim 0 of input 'x'"), std::string::npos);
  EXPECT_NE(error.find("'x_1': dim 1 of input 'x'"), std::string::npos);
  ImportOptions options;
  options.symbols = {{"x_1", 5}};
  options.micro = 3;
  Imported m(b.model, options);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.report.inputs[0], "x [3, 5] float");
  EXPECT_EQ(
      (*m.module)->getAttrOfType<mlir::IntegerAttr>("graph.batch").getInt(), 3);
  options.symbols = {{"x_9", 5}};
  EXPECT_NE(errorOf(b.model, options).find("symbols has 'x_9'"),
            std::string::npos);
}

onnx::ModelProto external(const std::string &location, const char *offset,
                          const char *length) {
  ModelBuilder b;
  b.input("x", {1, 2});
  b.initializer("w", {2, 2}, {});
  onnx::TensorProto &tensor = *b.graph.mutable_initializer(0);
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto add = [&](const char *key, const std::string &value) {
    onnx::StringStringEntryProto &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  if (offset)
    add("offset", offset);
  if (length)
    add("length", length);
  b.node("MatMul", {"x", "w"}, {"y"});
  b.output("y");
  return b.model;
}

TEST(OnnxRefusals, ExternalDataStaysInItsFolderAndSize) {
  std::string folder = temporaryFolder();
  auto import = [&](const std::string &location, const char *offset,
                    const char *length) {
    writeText(folder + "/m.onnx",
              external(location, offset, length).SerializeAsString());
    return Imported(folder + "/m.onnx").error;
  };
  writeText(folder + "/w.bin", std::string(20, '\0'));
  EXPECT_EQ(import("w.bin", "4", "16"), "");
  EXPECT_NE(import("w.bin", "8", "16").find("ends beyond 'w.bin'"),
            std::string::npos);
  EXPECT_NE(import("w.bin", "0", "12").find("has length 12"),
            std::string::npos);
  EXPECT_NE(import("w.bin", "-4", "16").find("not a number of bytes"),
            std::string::npos);
  EXPECT_NE(import("../w.bin", "0", "16").find("relative path without '..'"),
            std::string::npos);
  EXPECT_NE(import("/etc/passwd", "0", "16").find("relative path"),
            std::string::npos);
  EXPECT_NE(import("none.bin", "0", "16").find("No such file"),
            std::string::npos);
  ASSERT_FALSE(llvm::sys::fs::create_link("/etc/passwd", folder + "/link.bin"));
  EXPECT_NE(import("link.bin", "0", "16").find("leaves the model's folder"),
            std::string::npos);
  llvm::sys::fs::remove_directories(folder);
}

TEST(OnnxRefusals, OverlappingExternalData) {
  std::string folder = temporaryFolder();
  writeText(folder + "/w.bin", std::string(64, '\0'));
  onnx::ModelProto model = external("w.bin", "0", "16");
  onnx::TensorProto &other = *model.mutable_graph()->add_initializer();
  other = model.graph().initializer(0);
  other.set_name("v");
  other.mutable_external_data(1)->set_value("8");
  writeText(folder + "/m.onnx", model.SerializeAsString());
  EXPECT_EQ(Imported(folder + "/m.onnx").error,
            "external data of 'w' and 'v' overlap in 'w.bin' at byte 8");
  llvm::sys::fs::remove_directories(folder);
}

TEST(OnnxRefusals, HugeShapesAndTrainingDropout) {
  ModelBuilder huge;
  huge.input("x", {2});
  huge.integers("shape", {2}, {int64_t(1) << 30, int64_t(1) << 30});
  huge.node("ConstantOfShape", {"shape"}, {"c"});
  huge.node("ReduceSum", {"c"}, {"s"});
  huge.node("Add", {"x", "s"}, {"y"});
  huge.output("y");
  EXPECT_NE(errorOf(huge.model).find("2^40"), std::string::npos);
  ModelBuilder dropout;
  dropout.input("x", {2});
  dropout.initializer("ratio", {}, {0.5});
  onnx::TensorProto &mode = *dropout.graph.add_initializer();
  mode.set_name("mode");
  mode.set_data_type(onnx::TensorProto::BOOL);
  mode.add_int32_data(1);
  dropout.node("Dropout", {"x", "ratio", "mode"}, {"y"});
  dropout.output("y");
  EXPECT_NE(errorOf(dropout.model).find("in training mode"), std::string::npos);
}

} // namespace
} // namespace echelon::test
