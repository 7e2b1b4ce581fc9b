// SPDX-License-Identifier: Apache-2.0
//
// The model families of the zoo: each function adds the nodes between
// `input_ids` and `logits` and declares the parameters. What families share
// (causal mask, softmax attention, output projection) is here too.
#ifndef ECHELON_COMPILER_ZOO_FAMILIES_H
#define ECHELON_COMPILER_ZOO_FAMILIES_H

#include "compiler/zoo/zoo.h"
#include "compiler/zoo/builder.h"

namespace echelon::zoo {

// Standard deviation of projections and embeddings: GPT-2's and Llama's own
// `initializer_range` default.
inline constexpr double kInitStd = 0.02;

void buildGpt(GraphBuilder &builder, const ZooOptions &options);
void buildLlama(GraphBuilder &builder, const ZooOptions &options);

/// Positions of the run-time sequence and the causal mask over them.
struct Positions {
  Value length;       ///< int64 scalar
  Value positions_S;  ///< int64 [S]
  Value isVisible_SS; ///< bool [S, S]: key j is seen by query i iff j <= i
};
Positions addPositions(GraphBuilder &builder);

/// softmax(where(visible, q k^T * scale, lowest)) v; q, k and v [B, heads, S,
/// d]. The result is [B, S, heads * d].
Value addAttention(GraphBuilder &builder, const ZooOptions &options,
                   const Value &q_BHSD, const Value &k_BHSD,
                   const Value &v_BHSD, const Positions &positions);

/// Dropout at the given ratio, or `input` itself when the ratio is 0.
Value addDropout(GraphBuilder &builder, const Value &input, double ratio);

/// x W^T without bias; the weight is declared as [outputs, inputs].
Value addLinear(GraphBuilder &builder, const Value &input,
                const std::string &name, int64_t inputs, int64_t outputs,
                double std);

/// The result `logits`: x W^T with W the tied table or a parameter of its own.
void addLogits(GraphBuilder &builder, const ZooOptions &options,
               const Value &x_BSH, const Value &embedding);

/// Standard deviation of projections onto the residual stream: kInitStd
/// divided by sqrt(2 layers) (GPT-2, Radford et al. 2019, section 2.3).
double residualStd(const ZooOptions &options);

} // namespace echelon::zoo

#endif
