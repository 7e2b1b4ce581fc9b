// SPDX-License-Identifier: Apache-2.0
//
// What a compiled step is, for people.
#ifndef ECHELON_COMPILER_REPORT_REPORT_H
#define ECHELON_COMPILER_REPORT_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace echelon {

/// How many parameters there are, in elements and tensors, and how many of them train.
std::string describeParameters(mlir::ModuleOp module);

/// Ops of each function by kind, with FLOPs (2 a multiply-add) of one execution.
std::string describeOps(mlir::ModuleOp module);

/// Bytes by memory class, the packing of activations and, if asked, the bytes alive at each launch of a microbatch.
/// Needs placed buffers.
std::string describeMemory(mlir::ModuleOp module, bool overTime);

} // namespace echelon

#endif
