// SPDX-License-Identifier: Apache-2.0
//
// The exec dialect: when things run and in which memory. One rank's program: entries, buffers, launches.
#ifndef ECHELON_EXEC_BASE_TD
#define ECHELON_EXEC_BASE_TD
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::echelon::exec";
  let summary = "One rank's program: entries, buffers, launches";
  let description = [{
    Buffers are untyped memory; strides live in kernel descriptors and in the kernels generated for them. The order of
    launches in an entry is the order of execution.
  }];
  let useDefaultTypePrinterParser = 1;
}

def Exec_Buffer : TypeDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A piece of memory";
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;
#endif
