// SPDX-License-Identifier: Apache-2.0
//
// Registration of the graph dialect; each family adds its own ops.
#include "dialects/graph/graph_dialect.h"

using namespace mlir;

#include "dialects/graph/graph_dialect.cpp.inc"

namespace echelon::graph {

void GraphDialect::initialize() {
  registerFamilyAttributes();
  addContractionOps(*this);
  addElementwiseOps(*this);
  addReductionOps(*this);
  addNormalizationOps(*this);
  addAttentionOps(*this);
  addIndexingOps(*this);
  addShapeOps(*this);
  addLossOps(*this);
  addOptimizerOps(*this);
  addStateOps(*this);
  addFusedOps(*this);
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return builder.create<ConstantOp>(loc, type, elements);
}

} // namespace echelon::graph
