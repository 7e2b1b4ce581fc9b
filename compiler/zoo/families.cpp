// SPDX-License-Identifier: Apache-2.0
//
// What the zoo's families share. Shapes: B batch, S sequence, H heads, D head
// dim.
#include "compiler/zoo/families.h"
#include <cmath>
#include <limits>

namespace echelon::zoo {

Positions addPositions(GraphBuilder &builder) {
  builder.enter("positions");
  Positions result;
  Value shape = builder.node("Shape", {"input_ids"});
  Value one = builder.integer(1);
  result.length = builder.node("Gather", {shape, one});
  builder.attribute("axis", int64_t(0));
  Value zero = builder.integer(0);
  result.positions_S = builder.node("Range", {zero, result.length, one});
  Value firstDim = builder.integers({0});
  Value secondDim = builder.integers({1});
  Value keys = builder.node("Unsqueeze", {result.positions_S, firstDim});
  Value queries = builder.node("Unsqueeze", {result.positions_S, secondDim});
  result.isVisible_SS = builder.node("LessOrEqual", {keys, queries});
  return result;
}

Value addDropout(GraphBuilder &builder, const Value &input, double ratio) {
  if (ratio == 0)
    return input;
  Value ratioValue = builder.scalar(static_cast<float>(ratio));
  Value training = builder.boolean(true);
  return builder.node("Dropout", {input, ratioValue, training});
}

Value addAttention(GraphBuilder &builder, const ZooOptions &options,
                   const Value &q_BHSD, const Value &k_BHSD,
                   const Value &v_BHSD, const Positions &positions) {
  int64_t headDim = options.hidden / options.heads;
  Value k_BHDS = builder.transpose(k_BHSD, {0, 1, 3, 2});
  Value products = builder.node("MatMul", {q_BHSD, k_BHDS});
  Value scale = builder.scalar(1.0f / std::sqrt(static_cast<float>(headDim)));
  Value scaled = builder.node("Mul", {products, scale});
  Value lowest = builder.scalar(std::numeric_limits<float>::lowest());
  Value masked =
      builder.node("Where", {positions.isVisible_SS, scaled, lowest});
  Value weights_BHSS = builder.node("Softmax", {masked});
  builder.attribute("axis", int64_t(-1));
  weights_BHSS = addDropout(builder, weights_BHSS, options.dropout);
  Value mixed_BHSD = builder.node("MatMul", {weights_BHSS, v_BHSD});
  Value mixed_BSHD = builder.transpose(mixed_BHSD, {0, 2, 1, 3});
  return builder.reshape(mixed_BSHD, {0, 0, options.hidden});
}

Value addLinear(GraphBuilder &builder, const Value &input,
                const std::string &name, int64_t inputs, int64_t outputs,
                double std) {
  Value weight = builder.parameter(name, {outputs, inputs}, 0, std);
  Value transposed = builder.transpose(weight, {1, 0});
  return builder.node("MatMul", {input, transposed});
}

void addLogits(GraphBuilder &builder, const ZooOptions &options,
               const Value &x_BSH, const Value &embedding) {
  builder.enter("lm_head");
  if (options.tie) {
    Value transposed = builder.transpose(embedding, {1, 0});
    builder.node("MatMul", {x_BSH, transposed});
  } else {
    addLinear(builder, x_BSH, "lm_head.weight", options.hidden, options.vocab,
              kInitStd);
  }
  builder.nameResult("logits");
}

double residualStd(const ZooOptions &options) {
  return kInitStd / std::sqrt(2.0 * static_cast<double>(options.layers));
}

} // namespace echelon::zoo
