// SPDX-License-Identifier: Apache-2.0
//
// Identity of parameters: what trains, under which name, and what is one.
#include "test/compiler/onnx/model_builder.h"

namespace echelon::test {
namespace {

/// x + b0, then + Identity(b0): what exporters make of two equal biases.
ModelBuilder twoBiases(const Floats &values) {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.initializer("b0", {3}, values);
  b.node("Identity", {"b0"}, {"b1"});
  b.node("Add", {"x", "b0"}, {"h"});
  b.node("Add", {"h", "b1"}, {"y"});
  b.output("y");
  return b;
}

TEST(OnnxParameters, MergedEqualBiasesAreSplitUnderTheIdentitysName) {
  Imported m(twoBiases({0, 0, 0}).model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), (Strings{"b0", "b1"}));
  EXPECT_TRUE(m.decided("equal elements"));
  EXPECT_EQ(m.parameter("b1").getRole(), "bias");
}

TEST(OnnxParameters, TieInTheSpecKeepsThemOne) {
  ImportOptions options;
  options.tie = {{"b0", "b1"}};
  Imported m(twoBiases({0, 0, 0}).model, options);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), Strings{"b0"});
}

TEST(OnnxParameters, DistinctElementsWereShared) {
  Imported m(twoBiases({1, 2, 3}).model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), Strings{"b0"});
}

TEST(OnnxParameters, SplitInTheSpecSeparatesUses) {
  ImportOptions options;
  options.split = {{"b0"}};
  Imported m(twoBiases({1, 2, 3}).model, options);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), (Strings{"b0", "b1"}));
}

TEST(OnnxParameters, DirectUsesAreNamedByTheirNode) {
  ModelBuilder b;
  b.input("x", {2, 3});
  b.initializer("b0", {3}, {1, 1, 1});
  b.node("Add", {"x", "b0"}, {"h"}, "first");
  b.node("Add", {"h", "b0"}, {"y"}, "second");
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), (Strings{"b0", "b0@second"}));
}

/// logits = Gather(W, ids) head, with head = W^T stored apart.
ModelBuilder tiedHead(const Floats &head) {
  ModelBuilder b;
  b.input("ids", {1, 3}, onnx::TensorProto::INT64);
  b.initializer("wte", {3, 2}, {1, 0, 0, 1, 1, 2});
  b.initializer("onnx::MatMul_7", {2, 3}, head);
  b.node("Gather", {"wte", "ids"}, {"h"});
  b.node("MatMul", {"h", "onnx::MatMul_7"}, {"logits"});
  b.output("logits");
  return b;
}

TEST(OnnxParameters, WeightsEqualUpToTransposeAreOne) {
  Imported m(tiedHead({1, 0, 1, 0, 1, 2}).model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), Strings{"wte"});
  EXPECT_TRUE(m.decided("transposed"));
  EXPECT_EQ(m.count("graph.transpose"), 1);
  EXPECT_EQ(m.parameter("wte").getRole(), "embedding");
  // ids [0, 2, 1]: rows [1, 0], [1, 2], [0, 1] times W^T.
  EXPECT_EQ(m.run({{0, 2, 1}})[0].values,
            (std::vector<double>{1, 0, 1, 1, 2, 5, 0, 1, 2}));
}

TEST(OnnxParameters, SplitInTheSpecKeepsEqualWeightsApart) {
  ImportOptions options;
  options.split = {{"wte", "onnx::MatMul_7"}};
  Imported m(tiedHead({1, 0, 1, 0, 1, 2}).model, options);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), (Strings{"wte", "onnx::MatMul_7"}));
}

TEST(OnnxParameters, OtherWeightsAreNotTied) {
  Imported m(tiedHead({1, 0, 1, 0, 1, 3}).model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters().size(), 2u);
}

TEST(OnnxParameters, ConstantNodesAtWeightPositionsTrain) {
  ModelBuilder b;
  b.input("x", {2, 2});
  onnx::NodeProto &constant = b.node("Constant", {}, {"w"});
  onnx::AttributeProto &value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  value.mutable_t()->add_dims(2);
  value.mutable_t()->add_dims(1);
  value.mutable_t()->add_float_data(2);
  value.mutable_t()->add_float_data(3);
  b.node("MatMul", {"x", "w"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), Strings{"w"});
  // The packed float_data is read in place: [1, 1] [2, 3]^T = 5.
  EXPECT_EQ(m.run({{1, 1, 0, 1}})[0].values, (std::vector<double>{5, 3}));
}

TEST(OnnxParameters, InitializersListedAsInputsAreNoInputs) {
  ModelBuilder b(13, 3);
  b.input("x", {2, 2});
  b.input("w", {2, 2});
  b.initializer("w", {2, 2}, {1, 2, 3, 4});
  b.node("MatMul", {"x", "w"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.report.inputs.size(), 1u);
  EXPECT_EQ(m.parameters(), Strings{"w"});
}

TEST(OnnxParameters, MasksTablesAndScalarsDoNotTrain) {
  ModelBuilder b;
  b.input("x", {2, 2, 2});
  b.initializer("mask", {1, 2, 2}, {0, -1e9f, 0, 0});
  b.initializer("cos", {1, 2, 2}, {1, 0.5, 0.25, 0.125});
  b.initializer("scale", {}, {0.5});
  b.node("Mul", {"x", "scale"}, {"a"});
  b.node("Mul", {"a", "cos"}, {"c"});
  b.node("Add", {"c", "mask"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_TRUE(m.parameters().empty());
}

TEST(OnnxParameters, AStaticPathKeepsItsParameter) {
  // Gemma's 1 + w: w trains, the sum is computed.
  ModelBuilder b;
  b.input("x", {2, 2});
  b.initializer("norm.weight", {2}, {0.5, 1});
  b.initializer("one", {}, {1});
  b.node("Add", {"norm.weight", "one"}, {"scale"});
  b.node("Mul", {"x", "scale"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), Strings{"norm.weight"});
  EXPECT_EQ(m.parameter("norm.weight").getRole(), "norm");
  EXPECT_EQ(m.run({{1, 1, 2, 2}})[0].values,
            (std::vector<double>{1.5, 2, 3, 4}));
}

const char *kFx = "pkg.torch.onnx.fx_node";
const char *kScopes = "pkg.torch.onnx.name_scopes";

TEST(OnnxParameters, MetadataNamesMergedParameters) {
  ModelBuilder b(20, 10);
  b.input("x", {2, 2});
  b.initializer("m.ln_1.weight", {2}, {1, 1});
  b.initializer("m.ln_1.bias", {2}, {0, 0});
  for (int layer : {1, 2}) {
    std::string n = std::to_string(layer);
    onnx::NodeProto &norm = b.node(
        "LayerNormalization",
        {layer == 1 ? "x" : "h1", "m.ln_1.weight", "m.ln_1.bias"}, {"h" + n});
    ModelBuilder::metadata(
        norm, kFx,
        "%layer_norm : [num_users=1] = call_function[target=torch.ops.aten."
        "layer_norm.default](args = (%x, [2], %p_m_ln_" +
            n + "_weight, %p_m_ln_" + n + "_bias, 1e-05, False), kwargs = {})");
    ModelBuilder::metadata(norm, kScopes, "['', 'm', 'm.ln_" + n + "', 'y']");
  }
  b.output("h2");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), (Strings{"m.ln_1.weight", "m.ln_1.bias",
                                     "m.ln_2.weight", "m.ln_2.bias"}));
}

TEST(OnnxParameters, ARemovedZeroBiasReturns) {
  ModelBuilder b(20, 10);
  b.input("x", {2, 2});
  b.initializer("m.fc.weight", {2, 3}, {1, 2, 3, 4, 5, 6});
  onnx::NodeProto &gemm = b.node("Gemm", {"x", "m.fc.weight"}, {"y"});
  ModelBuilder::metadata(
      gemm, kFx,
      "%addmm : [num_users=1] = call_function[target=torch.ops.aten.addmm."
      "default](args = (%p_m_fc_bias, %x, %p_m_fc_weight), kwargs = {})");
  ModelBuilder::metadata(gemm, kScopes, "['', 'm', 'm.fc', 'addmm']");
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_EQ(m.parameters(), (Strings{"m.fc.weight", "m.fc.bias"}));
  auto bias = m.parameter("m.fc.bias");
  EXPECT_TRUE(mlir::isa<graph::InitAttr>(bias.getFirst()));
  EXPECT_EQ(bias.getRole(), "bias");
}

TEST(OnnxParameters, AConstantExpandedOverTheBatchIsOneSlice) {
  ModelBuilder b;
  b.input("x", {2, 2, 2});
  b.initializer("token.type", {2, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  b.node("Add", {"x", "token.type"}, {"y"});
  b.output("y");
  Imported m(b.model);
  ASSERT_TRUE(m.good()) << m.error;
  auto type =
      mlir::cast<mlir::RankedTensorType>(m.parameter("token.type").getType());
  EXPECT_EQ(type.getShape(), (llvm::ArrayRef<int64_t>{1, 2, 2}));
  EXPECT_EQ(m.run({std::vector<double>(8, 0)})[0].values,
            (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST(OnnxParameters, GlobsFreezeAndUnknownOnesAreErrors) {
  ImportOptions options;
  options.frozen = {"w*"};
  Imported m(tiedHead({1, 0, 1, 0, 1, 3}).model, options);
  ASSERT_TRUE(m.good()) << m.error;
  EXPECT_FALSE(m.parameter("wte").getTrainable());
  EXPECT_TRUE(m.parameter("onnx::MatMul_7").getTrainable());
  options.frozen = {"nothing.*"};
  Imported bad(tiedHead({1, 0, 1, 0, 1, 3}).model, options);
  EXPECT_EQ(bad.error, "parameters.frozen has 'nothing.*', which matches no "
                       "parameter of 'model.onnx'");
}

} // namespace
} // namespace echelon::test
