// SPDX-License-Identifier: Apache-2.0
//
// The exec dialect: types and ops of one rank's program.
#ifndef ECHELON_DIALECTS_EXEC_EXEC_DIALECT_H
#define ECHELON_DIALECTS_EXEC_EXEC_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/exec/exec_dialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/exec/exec_types.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/buffers.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/program.h.inc"

#endif
