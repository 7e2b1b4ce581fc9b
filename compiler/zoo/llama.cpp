// SPDX-License-Identifier: Apache-2.0
//
// Llama: RMS normalization and SwiGLU written out, rotary embeddings of the
// rotate-half kind from constant tables, grouped key and value heads, no
// biases. Projections are stored [outputs, inputs], as PyTorch's Linear stores
// them. Shapes: B batch, S sequence, C hidden, H heads, K key heads, D head
// dim.
#include "compiler/zoo/families.h"
#include <cmath>
#include <limits>

namespace echelon::zoo {

namespace {

constexpr float kEpsilon = 1e-5f;   // Llama 2 and 3: rms_norm_eps
constexpr double kRopeBase = 10000; // Su et al. 2021, section 3.4.3

class Llama {
public:
  Llama(GraphBuilder &builder, const ZooOptions &options)
      : builder(builder), options(options),
        headDim(options.hidden / options.heads) {}

  void build() {
    positions = addPositions(builder);
    addRotaryTables();
    builder.enter("embed_tokens");
    Value table =
        builder.parameter("model.embed_tokens.weight",
                          {options.vocab, options.hidden}, 0, kInitStd);
    Value x_BSC = builder.node("Gather", {table, "input_ids"});
    builder.attribute("axis", int64_t(0));
    for (int64_t layer = 0; layer < options.layers; ++layer)
      x_BSC = addBlock(x_BSC, "layers." + std::to_string(layer));
    x_BSC = addNorm(x_BSC, "norm", "model.norm");
    addLogits(builder, options, x_BSC, table);
  }

private:
  void addRotaryTables() {
    std::vector<float> cosines, sines;
    cosines.reserve(options.seq * headDim);
    sines.reserve(options.seq * headDim);
    int64_t half = headDim / 2;
    for (int64_t position = 0; position < options.seq; ++position)
      for (int64_t d = 0; d < headDim; ++d) {
        double exponent =
            2.0 * static_cast<double>(d % half) / static_cast<double>(headDim);
        double angle =
            static_cast<double>(position) * std::pow(kRopeBase, -exponent);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
    builder.enter("rotary");
    Value start = builder.integers({0});
    Value length = builder.node("Unsqueeze", {positions.length, start});
    auto sliced = [&](const char *name, llvm::ArrayRef<float> values) {
      Value whole = builder.table(name, {options.seq, headDim}, values);
      return builder.node("Slice", {whole, start, length, start});
    };
    cos_SD = sliced("rotary/cos", cosines);
    sin_SD = sliced("rotary/sin", sines);
  }

  Value addNorm(const Value &x_BSC, const std::string &scope,
                const std::string &name) {
    builder.enter(scope);
    Value weight = builder.parameter(name + ".weight", {options.hidden}, 1, 0);
    Value two = builder.scalar(2.0f);
    Value square = builder.node("Pow", {x_BSC, two});
    Value mean = builder.node("ReduceMean", {square});
    builder.attribute("axes", llvm::ArrayRef<int64_t>{-1});
    builder.attribute("keepdims", int64_t(1));
    Value epsilon = builder.scalar(kEpsilon);
    Value shifted = builder.node("Add", {mean, epsilon});
    Value root = builder.node("Sqrt", {shifted});
    Value inverse = builder.node("Reciprocal", {root});
    Value normed = builder.node("Mul", {x_BSC, inverse});
    return builder.node("Mul", {weight, normed});
  }

  Value addBlock(const Value &x_BSC, const std::string &scope) {
    std::string name = "model." + scope;
    Value normed =
        addNorm(x_BSC, scope + "/input_layernorm", name + ".input_layernorm");
    Value attended =
        addSelfAttention(normed, scope + "/self_attn", name + ".self_attn");
    builder.enter(scope);
    Value middle = builder.node("Add", {x_BSC, attended});
    normed = addNorm(middle, scope + "/post_attention_layernorm",
                     name + ".post_attention_layernorm");
    Value widened = addMlp(normed, scope + "/mlp", name + ".mlp");
    builder.enter(scope);
    return builder.node("Add", {middle, widened});
  }

  /// [B, S, C] to [B, heads, S, D] by the projection `name`.
  Value addHeads(const Value &x_BSC, const std::string &scope,
                 const std::string &name, int64_t heads) {
    builder.enter(scope);
    Value projected = addLinear(builder, x_BSC, name + ".weight",
                                options.hidden, heads * headDim, kInitStd);
    Value split = builder.reshape(projected, {0, 0, heads, headDim});
    return builder.transpose(split, {0, 2, 1, 3});
  }

  /// x cos + rotate_half(x) sin, rotate_half(a, b) = (-b, a).
  Value addRotation(const Value &x_BHSD) {
    int64_t half = headDim / 2;
    Value zero = builder.integers({0});
    Value middle = builder.integers({half});
    Value end = builder.integers({std::numeric_limits<int64_t>::max()});
    Value lastDim = builder.integers({3});
    Value first = builder.node("Slice", {x_BHSD, zero, middle, lastDim});
    Value second = builder.node("Slice", {x_BHSD, middle, end, lastDim});
    Value negated = builder.node("Neg", {second});
    Value rotated = builder.node("Concat", {negated, first});
    builder.attribute("axis", int64_t(-1));
    Value straight = builder.node("Mul", {x_BHSD, cos_SD});
    Value turned = builder.node("Mul", {rotated, sin_SD});
    return builder.node("Add", {straight, turned});
  }

  /// Repeats each key head for its group of query heads.
  Value addRepeat(const Value &x_BKSD) {
    int64_t group = options.heads / options.kvHeads;
    if (group == 1)
      return x_BKSD;
    Value groupDim = builder.integers({2});
    Value apart = builder.node("Unsqueeze", {x_BKSD, groupDim});
    Value shape = builder.integers({1, 1, group, 1, 1});
    Value repeated = builder.node("Expand", {apart, shape});
    return builder.reshape(repeated, {0, options.heads, -1, headDim});
  }

  Value addSelfAttention(const Value &x_BSC, const std::string &scope,
                         const std::string &name) {
    Value q =
        addHeads(x_BSC, scope + "/q_proj", name + ".q_proj", options.heads);
    Value k =
        addHeads(x_BSC, scope + "/k_proj", name + ".k_proj", options.kvHeads);
    Value v =
        addHeads(x_BSC, scope + "/v_proj", name + ".v_proj", options.kvHeads);
    builder.enter(scope + "/rotary");
    q = addRotation(q);
    k = addRotation(k);
    builder.enter(scope);
    k = addRepeat(k);
    v = addRepeat(v);
    Value mixed = addAttention(builder, options, q, k, v, positions);
    builder.enter(scope + "/o_proj");
    return addLinear(builder, mixed, name + ".o_proj.weight", options.hidden,
                     options.hidden, residualStd(options));
  }

  /// down(silu(gate(x)) * up(x)), Shazeer 2020, equation 6.
  Value addMlp(const Value &x_BSC, const std::string &scope,
               const std::string &name) {
    builder.enter(scope + "/gate_proj");
    Value gate = addLinear(builder, x_BSC, name + ".gate_proj.weight",
                           options.hidden, options.ffn, kInitStd);
    builder.enter(scope + "/act");
    Value sigmoid = builder.node("Sigmoid", {gate});
    Value active = builder.node("Mul", {gate, sigmoid});
    builder.enter(scope + "/up_proj");
    Value up = addLinear(builder, x_BSC, name + ".up_proj.weight",
                         options.hidden, options.ffn, kInitStd);
    builder.enter(scope);
    Value product = builder.node("Mul", {active, up});
    builder.enter(scope + "/down_proj");
    return addLinear(builder, product, name + ".down_proj.weight", options.ffn,
                     options.hidden, residualStd(options));
  }

  GraphBuilder &builder;
  const ZooOptions &options;
  int64_t headDim;
  Positions positions;
  Value cos_SD, sin_SD;
};

} // namespace

void buildLlama(GraphBuilder &builder, const ZooOptions &options) {
  Llama(builder, options).build();
}

} // namespace echelon::zoo
