// SPDX-License-Identifier: Apache-2.0
//
// Registration, parsing and printing of the dialect's attributes and enums.
#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/graph/graph_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/graph_attributes.cpp.inc"

namespace echelon::graph {

void GraphDialect::registerFamilyAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/graph_attributes.cpp.inc"
      >();
}

} // namespace echelon::graph
