// SPDX-License-Identifier: Apache-2.0
// Phase 4: fewer and larger kernels.
include "mlir/Pass/PassBase.td"

def FuseElementwisePass : Pass<"fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Elementwise ops, broadcasts and reductions become graph.fused groups";
  let description = [{
    Normalizations and optimizer updates are taken apart first; then groups grow along the edges that save the most
    memory traffic, as far as one pass over rows can compute them. Broadcasts and splats are never materialised for an
    elementwise reader, and a cheap value is computed again rather than kept. Every elementwise op ends in a group.
    Test: test/passes/fusion/fuse-elementwise.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect"];
  let options = [
    Option<"report", "report", "bool", "false", "print each group and the bytes that it saves">,
    Option<"maxOps", "max-ops", "int64_t", "64", "ops of a group">,
    Option<"maxTensors", "max-tensors", "int64_t", "24", "operands and results of a group">];
}
