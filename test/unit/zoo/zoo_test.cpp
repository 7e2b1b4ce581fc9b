// SPDX-License-Identifier: Apache-2.0
//
// Zoo models as protobuf: structure (unique names, order, sizes), the three
// ways weights are stored, determinism, and what is refused.
#include "compiler/zoo/zoo.h"
#include "compiler/zoo/weights.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <onnx/onnx_pb.h>
#include <set>
#include <sstream>

namespace echelon {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone afterwards.
class ZooTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "zoo-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const char *name) const { return (folder / name).string(); }

  onnx::ModelProto write(const ZooOptions &options, const char *name,
                         int64_t inlineLimit = 1500000000) {
    llvm::Expected<ZooSummary> written =
        writeZooModel(options, path(name), inlineLimit);
    onnx::ModelProto model;
    if (!written) {
      ADD_FAILURE() << llvm::toString(written.takeError());
      return model;
    }
    summary = *written;
    std::ifstream file(path(name), std::ios::binary);
    EXPECT_TRUE(model.ParseFromIstream(&file));
    return model;
  }

  std::string bytes(const char *name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path folder;
  ZooSummary summary;
};

ZooOptions tinyGpt() {
  ZooOptions options;
  options.layers = 2;
  options.hidden = 16;
  options.heads = 4;
  options.vocab = 32;
  options.seq = 8;
  return options;
}

ZooOptions tinyLlama() {
  ZooOptions options = tinyGpt();
  options.family = ZooOptions::Family::Llama;
  options.kvHeads = 2;
  options.ffn = 24;
  return options;
}

std::string faultOf(const ZooOptions &options) {
  llvm::Expected<ZooOptions> resolved = resolveZooOptions(options);
  return resolved ? "" : llvm::toString(resolved.takeError());
}

void expectWellFormed(const onnx::ModelProto &model) {
  std::set<std::string> known = {"input_ids"}, nodeNames;
  for (const auto &tensor : model.graph().initializer())
    EXPECT_TRUE(known.insert(tensor.name()).second) << tensor.name();
  for (const auto &node : model.graph().node()) {
    EXPECT_TRUE(nodeNames.insert(node.name()).second) << node.name();
    for (const std::string &input : node.input())
      EXPECT_TRUE(known.count(input)) << node.name() << " reads " << input;
    for (const std::string &output : node.output())
      EXPECT_TRUE(known.insert(output).second) << output;
  }
  EXPECT_TRUE(known.count("logits"));
  // Every initializer and every result is read, logits apart.
  std::set<std::string> read = {"logits", "input_ids"};
  for (const auto &node : model.graph().node())
    read.insert(node.input().begin(), node.input().end());
  for (const std::string &name : known)
    EXPECT_TRUE(read.count(name)) << name << " is never read";
}

TEST_F(ZooTest, GraphsAreWellFormed) {
  for (bool tie : {false, true})
    for (double dropout : {0.0, 0.1})
      for (ZooOptions options : {tinyGpt(), tinyLlama()}) {
        options.tie = tie;
        options.dropout = dropout;
        onnx::ModelProto model = write(options, "m.onnx");
        EXPECT_EQ(model.ir_version(), 8);
        ASSERT_EQ(model.opset_import_size(), 1);
        EXPECT_EQ(model.opset_import(0).version(), 17);
        expectWellFormed(model);
        EXPECT_EQ(summary.parameters, countZooParameters(llvm::cantFail(
                                          resolveZooOptions(options))));
      }
}

TEST_F(ZooTest, CountsAgreeWithTheArchitecture) {
  // GPT-2 small, untied, 1024 positions: 124,439,808 published with the tied
  // head + 50257 * 768 for a head of its own.
  ZooOptions gpt2;
  EXPECT_EQ(countZooParameters(llvm::cantFail(resolveZooOptions(gpt2))),
            124439808 + 50257 * 768);
  gpt2.tie = true;
  EXPECT_EQ(countZooParameters(llvm::cantFail(resolveZooOptions(gpt2))),
            124439808);
  // Llama-2-7B: 6,738,415,616 parameters.
  ZooOptions llama;
  llama.family = ZooOptions::Family::Llama;
  llama.layers = 32;
  llama.hidden = 4096;
  llama.heads = 32;
  llama.ffn = 11008;
  llama.vocab = 32000;
  EXPECT_EQ(countZooParameters(llvm::cantFail(resolveZooOptions(llama))),
            6738415616);
}

TEST_F(ZooTest, InterfaceIsTheDocumentedOne) {
  ZooOptions options = tinyGpt();
  onnx::ModelProto model = write(options, "m.onnx");
  const auto &graph = model.graph();
  ASSERT_EQ(graph.input_size(), 1);
  const auto &input = graph.input(0).type().tensor_type();
  EXPECT_EQ(graph.input(0).name(), "input_ids");
  EXPECT_EQ(input.elem_type(), onnx::TensorProto::INT64);
  EXPECT_EQ(input.shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(input.shape().dim(1).dim_value(), 8);
  ASSERT_EQ(graph.output_size(), 1);
  EXPECT_EQ(graph.output(0).type().tensor_type().shape().dim(2).dim_value(),
            32);
  options.symbolicSeq = true;
  model = write(options, "s.onnx");
  EXPECT_EQ(
      model.graph().input(0).type().tensor_type().shape().dim(1).dim_param(),
      "seq");
}

TEST_F(ZooTest, NamesAreReadable) {
  std::map<std::string, std::string> gptNodes, llamaNodes;
  onnx::ModelProto gpt = write(tinyGpt(), "g.onnx");
  onnx::ModelProto llama = write(tinyLlama(), "l.onnx");
  for (const auto &node : gpt.graph().node())
    gptNodes[node.name()] = node.op_type();
  for (const auto &node : llama.graph().node())
    llamaNodes[node.name()] = node.op_type();
  for (const char *name : {"h.0/attn/MatMul", "h.1/mlp/act/Tanh",
                           "ln_f/LayerNormalization", "lm_head/MatMul"})
    EXPECT_TRUE(gptNodes.count(name)) << name;
  for (const char *name : {"layers.0/self_attn/Expand",
                           "layers.1/mlp/act/Sigmoid", "norm/Reciprocal"})
    EXPECT_TRUE(llamaNodes.count(name)) << name;
}

TEST_F(ZooTest, WeightsFollowTheirRules) {
  ZooOptions options = tinyGpt();
  options.hidden = 64;
  onnx::ModelProto model = write(options, "m.onnx");
  std::map<std::string, std::vector<float>> values;
  for (const auto &tensor : model.graph().initializer()) {
    std::vector<float> &v = values[tensor.name()];
    v.resize(tensor.raw_data().size() / 4);
    std::memcpy(v.data(), tensor.raw_data().data(), tensor.raw_data().size());
  }
  for (float x : values.at("transformer.h.0.ln_1.weight"))
    EXPECT_EQ(x, 1.0f);
  for (float x : values.at("transformer.h.0.attn.c_attn.bias"))
    EXPECT_EQ(x, 0.0f);
  auto deviation = [](const std::vector<float> &v) {
    double sum = 0, squares = 0;
    for (float x : v)
      sum += x, squares += double(x) * x;
    double mean = sum / double(v.size());
    EXPECT_LT(std::fabs(mean), 4 * 0.02 / std::sqrt(double(v.size())));
    return std::sqrt(squares / double(v.size()) - mean * mean);
  };
  // The standard error of a standard deviation of n values is s / sqrt(2 n):
  // 64 * 192 = 12288 values, 0.6 %; four of them are 2.6 %.
  EXPECT_NEAR(deviation(values.at("transformer.h.1.attn.c_attn.weight")), 0.02,
              0.02 * 0.026);
  // Residual projections: 0.02 / sqrt(2 * 2) = 0.01; 4096 values, 4.5 %.
  EXPECT_NEAR(deviation(values.at("transformer.h.1.attn.c_proj.weight")), 0.01,
              0.01 * 0.045);
}

TEST_F(ZooTest, EqualOptionsGiveEqualBytesAndSeedsDiffer) {
  ZooOptions options = tinyLlama();
  write(options, "a.onnx");
  write(options, "b.onnx");
  options.seed = 1;
  write(options, "c.onnx");
  EXPECT_EQ(bytes("a.onnx"), bytes("b.onnx"));
  EXPECT_NE(bytes("a.onnx"), bytes("c.onnx"));
}

TEST_F(ZooTest, ExternalDataHoldsTheSameValues) {
  onnx::ModelProto inside = write(tinyGpt(), "a.onnx");
  onnx::ModelProto outside = write(tinyGpt(), "b.onnx", /*inlineLimit=*/100);
  std::string data = bytes("b.onnx.data");
  EXPECT_EQ(static_cast<int64_t>(data.size()), summary.dataBytes);
  uint64_t end = 0;
  for (int i = 0; i < outside.graph().initializer_size(); ++i) {
    const auto &tensor = outside.graph().initializer(i);
    std::map<std::string, std::string> external;
    for (const auto &entry : tensor.external_data())
      external[entry.key()] = entry.value();
    EXPECT_EQ(tensor.data_location(), onnx::TensorProto::EXTERNAL);
    EXPECT_FALSE(tensor.has_raw_data());
    EXPECT_EQ(external.at("location"), "b.onnx.data");
    uint64_t offset = std::stoull(external.at("offset"));
    uint64_t length = std::stoull(external.at("length"));
    EXPECT_EQ(offset % 64, 0u);
    EXPECT_GE(offset, end);
    end = offset + length;
    ASSERT_LE(end, data.size());
    EXPECT_EQ(data.substr(offset, length),
              inside.graph().initializer(i).raw_data());
  }
  EXPECT_EQ(end, data.size());
}

TEST_F(ZooTest, LargeModelWithoutWeightsStaysSmall) {
  // GPT-3: 96 layers, 12288 wide, 96 heads, 175 B parameters.
  ZooOptions options;
  options.layers = 96;
  options.hidden = 12288;
  options.heads = 96;
  options.seq = 2048;
  options.withWeights = false;
  onnx::ModelProto model = write(options, "m.onnx");
  EXPECT_GT(summary.parameters, 174000000000);
  EXPECT_LT(summary.fileBytes, 4 << 20);
  expectWellFormed(model);
  std::map<std::string, std::map<std::string, std::string>> rules;
  for (const auto &tensor : model.graph().initializer()) {
    EXPECT_EQ(tensor.data_location(), onnx::TensorProto::EXTERNAL);
    for (const auto &entry : tensor.external_data())
      rules[tensor.name()][entry.key()] = entry.value();
  }
  EXPECT_EQ(rules.at("transformer.wte.weight").at("location"), "echelon:init");
  EXPECT_EQ(rules.at("transformer.wte.weight").at("kind"), "normal");
  EXPECT_EQ(std::stod(rules.at("transformer.wte.weight").at("std")), 0.02);
  EXPECT_EQ(rules.at("transformer.ln_f.weight").at("kind"), "ones");
  EXPECT_EQ(rules.at("transformer.ln_f.bias").at("kind"), "zeros");
}

TEST_F(ZooTest, RefusesImpossibleSizes) {
  ZooOptions options = tinyGpt();
  options.heads = 3;
  EXPECT_EQ(faultOf(options), "--hidden 16 is not a multiple of --heads 3");
  options = tinyGpt();
  options.layers = 0;
  options.vocab = -5;
  EXPECT_EQ(faultOf(options), "--layers is 0, but must be in [1, 65536]\n"
                              "--vocab is -5, but must be in [1, 16777216]");
  options = tinyGpt();
  options.kvHeads = 2;
  EXPECT_NE(faultOf(options).find("which only llama knows"), std::string::npos);
  options = tinyLlama();
  options.kvHeads = 3;
  EXPECT_EQ(faultOf(options), "--heads 4 is not a multiple of --kv-heads 3");
  options = tinyLlama();
  options.hidden = 12;
  EXPECT_NE(faultOf(options).find("even head dim"), std::string::npos);
  options = tinyLlama();
  options.seq = 1 << 24;
  EXPECT_NE(faultOf(options).find("rotary tables"), std::string::npos);
  options = tinyGpt();
  options.dropout = std::nan("");
  EXPECT_EQ(faultOf(options), "--dropout must be in [0, 1)");
}

TEST_F(ZooTest, AFailedWriteLeavesNothingBehind) {
  std::string target = path("missing/m.onnx");
  llvm::Expected<ZooSummary> written = writeZooModel(tinyGpt(), target);
  ASSERT_FALSE(static_cast<bool>(written));
  EXPECT_EQ(llvm::toString(written.takeError()),
            "cannot write '" + target + "': No such file or directory");
  EXPECT_TRUE(fs::is_empty(folder));
  // A folder where the data file belongs: the model must not appear either.
  fs::create_directory(path("m.onnx.data"));
  written = writeZooModel(tinyGpt(), path("m.onnx"), /*inlineLimitBytes=*/0);
  ASSERT_FALSE(static_cast<bool>(written));
  llvm::consumeError(written.takeError());
  EXPECT_EQ(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()),
      1);
}

TEST(ZooWeights, ElementsDependOnTheirIndexOnly) {
  std::vector<float> whole(101), part(51);
  zoo::fillNormal(3, "w", 0, 0, 1, whole);
  zoo::fillNormal(3, "w", 50, 0, 1, part);
  for (size_t i = 0; i < part.size(); ++i)
    EXPECT_EQ(part[i], whole[i + 50]);
  std::vector<float> other(101);
  zoo::fillNormal(3, "v", 0, 0, 1, other);
  EXPECT_NE(whole, other);
}

} // namespace
} // namespace echelon
