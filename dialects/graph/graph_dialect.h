// SPDX-License-Identifier: Apache-2.0
//
// The graph dialect and, for convenience, all its op families.
#ifndef ECHELON_DIALECTS_GRAPH_GRAPH_DIALECT_H
#define ECHELON_DIALECTS_GRAPH_GRAPH_DIALECT_H

#include "dialects/graph/graph_interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/graph/graph_dialect.h.inc"

#include "dialects/graph/graph_enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/graph_attributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/graph/attention.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/contraction.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/elementwise.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/fused.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/indexing.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/loss.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/normalization.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/optimizer.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/reduction.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/shape.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/state.h.inc"

namespace echelon::graph {

/// Each family registers its ops and attributes from its own .cpp.
void addContractionOps(GraphDialect &dialect);
void addElementwiseOps(GraphDialect &dialect);
void addReductionOps(GraphDialect &dialect);
void addNormalizationOps(GraphDialect &dialect);
void addAttentionOps(GraphDialect &dialect);
void addIndexingOps(GraphDialect &dialect);
void addShapeOps(GraphDialect &dialect);
void addLossOps(GraphDialect &dialect);
void addOptimizerOps(GraphDialect &dialect);
void addStateOps(GraphDialect &dialect);
void addFusedOps(GraphDialect &dialect);

} // namespace echelon::graph

#endif
