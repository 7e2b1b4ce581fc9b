// SPDX-License-Identifier: Apache-2.0
//
// GPT-2: learned position embeddings, blocks with the normalization in front,
// tanh GELU written out. Projections are stored [inputs, outputs], as GPT-2's
// Conv1D stores them. Shapes: B batch, S sequence, C hidden, H heads, D head
// dim.
#include "compiler/zoo/families.h"
#include <cmath>

namespace echelon::zoo {

namespace {

constexpr float kEpsilon = 1e-5f; // GPT-2's layer_norm_epsilon

class Gpt {
public:
  Gpt(GraphBuilder &builder, const ZooOptions &options)
      : builder(builder), options(options) {}

  void build() {
    positions = addPositions(builder);
    builder.enter("embeddings");
    Value table = builder.parameter(
        "transformer.wte.weight", {options.vocab, options.hidden}, 0, kInitStd);
    Value positionTable = builder.parameter(
        "transformer.wpe.weight", {options.seq, options.hidden}, 0, kInitStd);
    Value tokens_BSC = gather(table, "input_ids");
    Value positions_SC = gather(positionTable, positions.positions_S);
    Value x_BSC = builder.node("Add", {tokens_BSC, positions_SC});
    x_BSC = addDropout(builder, x_BSC, options.dropout);
    for (int64_t layer = 0; layer < options.layers; ++layer)
      x_BSC = addBlock(x_BSC, "h." + std::to_string(layer));
    x_BSC = addNorm(x_BSC, "ln_f", "transformer.ln_f");
    addLogits(builder, options, x_BSC, table);
  }

private:
  Value gather(const Value &table, const Value &ids) {
    Value rows = builder.node("Gather", {table, ids});
    builder.attribute("axis", int64_t(0));
    return rows;
  }

  Value addNorm(const Value &x_BSC, const std::string &scope,
                const std::string &name) {
    builder.enter(scope);
    Value weight = builder.parameter(name + ".weight", {options.hidden}, 1, 0);
    Value bias = builder.parameter(name + ".bias", {options.hidden}, 0, 0);
    Value result = builder.node("LayerNormalization", {x_BSC, weight, bias});
    builder.attribute("axis", int64_t(-1));
    builder.attribute("epsilon", kEpsilon);
    return result;
  }

  Value addProjection(const Value &input, const std::string &name,
                      int64_t inputs, int64_t outputs, double std) {
    Value weight =
        builder.parameter(name + ".weight", {inputs, outputs}, 0, std);
    Value bias = builder.parameter(name + ".bias", {outputs}, 0, 0);
    Value product = builder.node("MatMul", {input, weight});
    return builder.node("Add", {product, bias});
  }

  Value addBlock(const Value &x_BSC, const std::string &scope) {
    std::string name = "transformer." + scope;
    Value normed = addNorm(x_BSC, scope + "/ln_1", name + ".ln_1");
    Value attended = addSelfAttention(normed, scope + "/attn", name + ".attn");
    builder.enter(scope);
    Value middle = builder.node("Add", {x_BSC, attended});
    normed = addNorm(middle, scope + "/ln_2", name + ".ln_2");
    Value widened = addMlp(normed, scope + "/mlp", name + ".mlp");
    builder.enter(scope);
    return builder.node("Add", {middle, widened});
  }

  Value addSelfAttention(const Value &x_BSC, const std::string &scope,
                         const std::string &name) {
    int64_t headDim = options.hidden / options.heads;
    builder.enter(scope + "/c_attn");
    Value qkv = addProjection(x_BSC, name + ".c_attn", options.hidden,
                              3 * options.hidden, kInitStd);
    builder.enter(scope);
    Value sizes =
        builder.integers({options.hidden, options.hidden, options.hidden});
    std::vector<Value> parts = builder.nodes("Split", {qkv, sizes}, 3);
    builder.attribute("axis", int64_t(2));
    for (Value &part : parts) {
      Value heads_BSHD = builder.reshape(part, {0, 0, options.heads, headDim});
      part = builder.transpose(heads_BSHD, {0, 2, 1, 3});
    }
    Value mixed =
        addAttention(builder, options, parts[0], parts[1], parts[2], positions);
    builder.enter(scope + "/c_proj");
    Value result = addProjection(mixed, name + ".c_proj", options.hidden,
                                 options.hidden, residualStd(options));
    return addDropout(builder, result, options.dropout);
  }

  Value addMlp(const Value &x_BSC, const std::string &scope,
               const std::string &name) {
    builder.enter(scope + "/c_fc");
    Value wide = addProjection(x_BSC, name + ".c_fc", options.hidden,
                               options.ffn, kInitStd);
    builder.enter(scope + "/act");
    Value active = addGelu(wide);
    builder.enter(scope + "/c_proj");
    Value result = addProjection(active, name + ".c_proj", options.ffn,
                                 options.hidden, residualStd(options));
    return addDropout(builder, result, options.dropout);
  }

  /// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), Hendrycks and Gimpel
  /// 2016, section 2.
  Value addGelu(const Value &x) {
    Value three = builder.scalar(3.0f);
    Value cube = builder.node("Pow", {x, three});
    Value factor = builder.scalar(0.044715f);
    Value small = builder.node("Mul", {cube, factor});
    Value sum = builder.node("Add", {x, small});
    Value root = builder.scalar(static_cast<float>(std::sqrt(2.0 / M_PI)));
    Value inner = builder.node("Mul", {sum, root});
    Value tanh = builder.node("Tanh", {inner});
    Value one = builder.scalar(1.0f);
    Value shifted = builder.node("Add", {tanh, one});
    Value half = builder.scalar(0.5f);
    Value halved = builder.node("Mul", {x, half});
    return builder.node("Mul", {halved, shifted});
  }

  GraphBuilder &builder;
  const ZooOptions &options;
  Positions positions;
};

} // namespace

void buildGpt(GraphBuilder &builder, const ZooOptions &options) {
  Gpt(builder, options).build();
}

} // namespace echelon::zoo
