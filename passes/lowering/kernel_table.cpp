// SPDX-License-Identifier: Apache-2.0
//
// Deduplication of generated kernels by their printed form and strides.
#include "passes/lowering/kernel_table.h"

#include "dialects/graph/builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace llvm;

namespace echelon::lowering {

static ArrayAttr stridesOf(Builder &builder, ArrayRef<StridedView> views) {
  SmallVector<Attribute> strides;
  for (const StridedView &view : views) {
    // The stride of a dim of one element is never used; 0 makes equal layouts equal.
    SmallVector<int64_t> used(view.strides.begin(), view.strides.end());
    for (auto [stride, size] : llvm::zip_equal(used, view.sizes))
      stride = size == 1 ? 0 : stride;
    strides.push_back(builder.getDenseI64ArrayAttr(used));
  }
  return builder.getArrayAttr(strides);
}

FlatSymbolRefAttr KernelTable::get(graph::FusedOp fused, ArrayRef<StridedView> operands,
                                   ArrayRef<StridedView> results, ArrayRef<bool> accumulate) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  ArrayAttr operandStrides = stridesOf(builder, operands), resultStrides = stridesOf(builder, results);
  std::string key;
  raw_string_ostream stream(key);
  fused->print(stream, OpPrintingFlags().useLocalScope());
  stream << operandStrides << resultStrides;
  for (bool flag : accumulate)
    stream << (flag ? '+' : '=');
  FlatSymbolRefAttr &symbol = kernels[key];
  if (symbol)
    return symbol;
  symbol = FlatSymbolRefAttr::get(module.getContext(), "fused_" + std::to_string(kernels.size() - 1));
  auto kernel = builder.create<exec::KernelOp>(fused.getLoc(), symbol.getValue(), operandStrides, resultStrides,
                                               builder.getDenseBoolArrayAttr(accumulate));
  Block &block = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value operand : fused.getInputs())
    mapping.map(operand, block.addArgument(operand.getType(), fused.getLoc()));
  // The same value may be read under two layouts: operands are matched by position.
  builder.setInsertionPointToStart(&block);
  auto inner = cast<graph::FusedOp>(builder.clone(*fused, mapping));
  inner->setOperands(block.getArguments());
  builder.create<exec::YieldOp>(fused.getLoc(), inner.getResults());
  return symbol;
}

FlatSymbolRefAttr KernelTable::getCopy(Location loc, RankedTensorType type, const StridedView &from,
                                       const StridedView &to, bool accumulate) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  // A group that yields its argument, made beside the module's ops only to be cloned into the kernel.
  auto source = builder.create<graph::ReadOp>(loc, type, FlatSymbolRefAttr::get(module.getContext(), "copied"));
  int64_t rank = type.getRank();
  auto fused = builder.create<graph::FusedOp>(loc, TypeRange{type}, ValueRange{source}, type.getShape(),
                                              std::max<int64_t>(0, rank - 1));
  Block &body = fused.getBody().emplaceBlock();
  body.addArgument(type, loc);
  OpBuilder::atBlockEnd(&body).create<graph::YieldOp>(loc, body.getArgument(0));
  FlatSymbolRefAttr symbol = get(fused, {from}, {to}, {accumulate});
  fused.erase();
  source.erase();
  return symbol;
}

} // namespace echelon::lowering
