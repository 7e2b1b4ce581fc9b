// SPDX-License-Identifier: Apache-2.0
//
// Semantics of ops over opset versions, functions, losses and locations, with
// numbers worked out by hand or taken from the ONNX specification.
#include "test/compiler/onnx/model_builder.h"

namespace echelon::test {
namespace {

using Doubles = std::vector<double>;

void expectNear(const Doubles &values, const Doubles &expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-6) << "at " << i; // six digits given
}

TEST(OnnxOps, SoftmaxChangedItsMeaningAtOpset13) {
  for (int64_t opset : {11, 13}) {
    ModelBuilder b(opset);
    b.input("x", {1, 2, 2});
    onnx::NodeProto &node = b.node("Softmax", {"x"}, {"y"});
    ModelBuilder::set(node, "axis", int64_t(1));
    b.output("y");
    Imported m(b.model);
    ASSERT_TRUE(m.good()) << m.error;
    // Up to 12 over all four elements, since 13 over columns.
    expectNear(m.run({{1, 2, 3, 4}})[0].values,
               opset == 11 ? Doubles{0.032059, 0.087144, 0.236883, 0.643914}
                           : Doubles{0.119203, 0.119203, 0.880797, 0.880797});
  }
}

TEST(OnnxOps, SplitIntoUnequalParts) {
  ModelBuilder b(18);
  b.input("x", {7});
  onnx::NodeProto &node = b.node("Split", {"x"}, {"a", "c"});
  ModelBuilder::set(node, "num_outputs", int64_t(2));
  b.output("a");
  b.output("c");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  auto results = m.run({{0, 1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(results[0].values, (Doubles{0, 1, 2, 3}));
  EXPECT_EQ(results[1].values, (Doubles{4, 5, 6}));
}

TEST(OnnxOps, SliceBoundsAndNegativeSteps) {
  ModelBuilder b;
  b.input("x", {5});
  b.integers("start", {1}, {INT64_MAX});
  b.integers("end", {1}, {INT64_MIN});
  b.integers("axis", {1}, {-1});
  b.integers("step", {1}, {-2});
  b.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.run({{0, 1, 2, 3, 4}})[0].values, (Doubles{4, 2, 0}));
}

TEST(OnnxOps, ShapeChainsAreConstants) {
  // [B, S, 8] -> [B, S, 2, 4] by Shape, Gather, Concat.
  ModelBuilder b(13);
  b.input("x", {-1, -1, 8});
  b.node("Shape", {"x"}, {"shape"});
  b.integers("i0", {1}, {0});
  b.integers("i1", {1}, {1});
  b.integers("tail", {2}, {2, -1});
  b.node("Gather", {"shape", "i0"}, {"b"});
  b.node("Gather", {"shape", "i1"}, {"s"});
  b.node("Concat", {"b", "s", "tail"}, {"target"});
  ModelBuilder::set(*b.graph.mutable_node(3), "axis", int64_t(0));
  b.node("Reshape", {"x", "target"}, {"y"});
  b.output("y");
  ImportOptions options;
  options.inputShapes = {{"x", {2, 3, 8}}};
  Imported m(b.model, options);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.count("graph.reshape"), 1);
  EXPECT_EQ(m.count("graph.constant"), 0);
  EXPECT_EQ(m.run({Doubles(48, 1)})[0].shape, (Shape{2, 3, 2, 4}));
}

TEST(OnnxOps, PowWithConstantExponentTakesNoLogarithm) {
  ModelBuilder b;
  b.input("x", {2});
  b.initializer("two", {}, {2});
  b.initializer("half", {}, {0.5});
  b.node("Pow", {"x", "two"}, {"s"});
  b.node("Pow", {"s", "half"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.run({{-3, 0}})[0].values, (Doubles{3, 0}));
}

TEST(OnnxOps, CrossEntropyIgnoresLabels) {
  // onnx.md F2: loss 0.753109.
  ModelBuilder b;
  b.input("x", {3, 3});
  b.input("labels", {3}, onnx::TensorProto::INT64);
  onnx::NodeProto &node =
      b.node("SoftmaxCrossEntropyLoss", {"x", "labels"}, {"loss"});
  ModelBuilder::set(node, "ignore_index", int64_t(-100));
  b.output("loss");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.count("graph.softmax_cross_entropy"), 1);
  expectNear(m.run({{1, 2, 3, 4, 5, 6, 0, 0, 0}, {2, -100, 1}})[0].values,
             {0.753109});
}

TEST(OnnxOps, LogSoftmaxAndLikelihoodAreCrossEntropy) {
  ModelBuilder b;
  b.input("x", {1, 2, 2}); // classes in dim 1
  b.input("labels", {1, 2}, onnx::TensorProto::INT64);
  onnx::NodeProto &log = b.node("LogSoftmax", {"x"}, {"p"});
  ModelBuilder::set(log, "axis", int64_t(1));
  b.node("NegativeLogLikelihoodLoss", {"p", "labels"}, {"loss"});
  b.output("loss");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.count("graph.softmax_cross_entropy"), 1);
  // Columns [1, 3] and [2, 4]: each log(1 + e^2) - {2, 0}; mean 1.126928.
  expectNear(m.run({{1, 2, 3, 4}, {1, 0}})[0].values, {1.126928});
}

TEST(OnnxOps, CausalAttentionOverUnequalLengthsAlignsAtTheStart) {
  ModelBuilder b(23, 11);
  b.input("q", {1, 1, 2, 1});
  b.input("k", {1, 1, 3, 1});
  b.input("v", {1, 1, 3, 1});
  onnx::NodeProto &node = b.node("Attention", {"q", "k", "v"}, {"y"});
  ModelBuilder::set(node, "is_causal", int64_t(1));
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  // Query 0 sees key 0 only, query 1 keys 0 and 1 with equal scores.
  expectNear(m.run({{0, 0}, {1, 1, 1}, {10, 20, 40}})[0].values, {10, 15});
}

TEST(OnnxOps, RotaryTablesAreFolded) {
  ModelBuilder b;
  b.input("x", {1, 2, 2});
  b.initializer("inv_freq", {1, 2}, {1, 0.5});
  b.initializer("positions", {2, 1}, {0, 1});
  b.node("MatMul", {"positions", "inv_freq"}, {"angles"});
  b.node("Cos", {"angles"}, {"cos"});
  b.node("Mul", {"x", "cos"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_TRUE(m.parameters().empty());
  EXPECT_EQ(m.count("graph.unary"), 0);
  expectNear(m.run({{1, 1, 1, 1}})[0].values, {1, 1, 0.540302, 0.877583});
}

TEST(OnnxOps, GatherOfPositionsIsASliceOfTheParameter) {
  ModelBuilder b;
  b.input("x", {2, 2, 2});
  b.initializer("wpe", {3, 2}, {1, 2, 3, 4, 5, 6});
  b.integers("ids", {1, 2}, {0, 1});
  b.node("Gather", {"wpe", "ids"}, {"p"});
  b.node("Add", {"x", "p"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), Strings{"wpe"});
  EXPECT_EQ(m.count("graph.slice"), 1);
  EXPECT_EQ(m.count("graph.embedding"), 0);
  EXPECT_EQ(m.parameter("wpe").getRole(), "embedding");
}

TEST(OnnxOps, FunctionsAreInlinedWithTheirOwnOpsetAndAttributes) {
  ModelBuilder b(17);
  b.input("x", {1, 2, 2});
  onnx::FunctionProto &function = *b.model.add_functions();
  function.set_name("Soft");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("r");
  function.add_attribute("dim");
  function.add_opset_import()->set_version(11);
  onnx::NodeProto &inner = *function.add_node();
  inner.set_op_type("Softmax");
  inner.add_input("a");
  inner.add_output("r");
  onnx::AttributeProto &axis = *inner.add_attribute();
  axis.set_name("axis");
  axis.set_ref_attr_name("dim");
  axis.set_type(onnx::AttributeProto::INT);
  onnx::NodeProto &call = b.node("Soft", {"x"}, {"y"});
  call.set_domain("mine");
  ModelBuilder::set(call, "dim", int64_t(1));
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  expectNear(m.run({{1, 2, 3, 4}})[0].values,
             {0.032059, 0.087144, 0.236883, 0.643914});
}

TEST(OnnxOps, AFunctionThatCallsItselfIsRefused) {
  ModelBuilder b(17);
  b.input("x", {2});
  onnx::FunctionProto &function = *b.model.add_functions();
  function.set_name("F");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("r");
  onnx::NodeProto &inner = *function.add_node();
  inner.set_op_type("F");
  inner.set_domain("mine");
  inner.add_input("a");
  inner.add_output("r");
  b.node("F", {"x"}, {"y"}).set_domain("mine");
  b.output("y");
  Imported m(b.model);
  EXPECT_NE(m.error.find("must not call itself"), std::string::npos) << m.error;
}

TEST(OnnxOps, UnsortedNodesAreSorted) {
  ModelBuilder b;
  b.input("x", {2});
  b.node("Neg", {"h"}, {"y"});
  b.node("Relu", {"x"}, {"h"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.run({{-1, 2}})[0].values, (Doubles{0, -2}));
}

TEST(OnnxOps, LocationsNameNodeAndPythonLine) {
  ModelBuilder b(20, 10);
  b.input("x", {2});
  onnx::NodeProto &node = b.node("Relu", {"x"}, {"y"}, "h.0/act");
  ModelBuilder::metadata(node, "pkg.torch.onnx.stack_trace",
                         "File \"a.py\", line 1, in f\n  g()\n  File "
                         "\"model.py\", line 123, in forward\n    x.relu()");
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  m.module->walk([&](graph::UnaryOp op) {
    EXPECT_EQ(describeLocation(op.getLoc()),
              "node \"h.0/act\" (model.onnx, node 0; model.py:123 in forward)");
  });
}

} // namespace
} // namespace echelon::test
