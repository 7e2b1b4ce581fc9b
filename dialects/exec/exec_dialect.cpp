// SPDX-License-Identifier: Apache-2.0
//
// Registration and verifiers of the exec dialect.
#include "dialects/exec/exec_dialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/exec/exec_dialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/exec_types.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/exec/buffers.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/exec/program.cpp.inc"

namespace echelon::exec {

void ExecDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/exec/exec_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/buffers.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/program.cpp.inc"
      >();
}

LogicalResult AllocOp::verify() {
  if (getBytesAttr().getInt() < 0)
    return emitOpError("has a negative size");
  if (auto offset = getOffset(); offset && int64_t(*offset) % 64 != 0)
    return emitOpError("offset ") << *offset << " is not a multiple of 64";
  return success();
}

LogicalResult LaunchOp::verify() {
  size_t count = getBuffers().size();
  if (getOffsets().size() != count || getWrites().size() != count)
    return emitOpError("offsets and writes need one entry for each of the ") << count << " buffers";
  for (int64_t argument : getArguments())
    if (argument < -1 || argument >= int64_t(count))
      return emitOpError("argument ") << argument << " is no buffer";
  for (Attribute field : getDescriptor()) {
    auto typed = dyn_cast<TypedAttr>(field);
    if (!typed || !(typed.getType().isInteger(64) || typed.getType().isF64()))
      return emitOpError("descriptor field ") << field << " is neither an i64 nor an f64";
  }
  return success();
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("must end with exec.yield");
  if (getOperandStrides().size() != block.getNumArguments())
    return emitOpError("needs strides for each of its ") << block.getNumArguments() << " operands";
  if (getResultStrides().size() != yield.getValues().size() || getAccumulate().size() != yield.getValues().size())
    return emitOpError("needs strides and an accumulate flag for each of its ") << yield.getValues().size()
                                                                                << " results";
  return success();
}

} // namespace echelon::exec
