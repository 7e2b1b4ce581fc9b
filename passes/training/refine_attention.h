// SPDX-License-Identifier: Apache-2.0
//
// What raise-attention knows about the operands of a graph.attention, wherever it came from.
#ifndef ECHELON_PASSES_TRAINING_REFINE_ATTENTION_H
#define ECHELON_PASSES_TRAINING_REFINE_ATTENTION_H

#include "dialects/graph/graph_dialect.h"

namespace echelon::training {

/// keys [b, k, heads, d] that repeat each of fewer heads: the fewer heads [b, k, kv, d]. Else `keys`. `heads` is the
/// head count of what is returned.
mlir::Value fewerHeads(mlir::OpBuilder &builder, mlir::Value keys, int64_t &heads);

/// Gives an attention that the model spells as one op the form that raising gives: a constant mask becomes its class,
/// repeated key and value heads become fewer ones.
void refineAttention(graph::AttentionOp op, mlir::OpBuilder &builder);

} // namespace echelon::training

#endif
