// SPDX-License-Identifier: Apache-2.0
// Where memory comes from.
include "dialects/exec/exec_base.td"

def Exec_AllocOp : Exec_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "An activation or temporary; assign_buffers gives it its place in the arena by `offset`";
  let arguments = (ins I64Attr:$bytes, OptionalAttr<I64Attr>:$offset);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$bytes (`at` $offset^)? attr-dict";
  let hasVerifier = 1;
}

def Exec_VariableOp : Exec_Op<"variable", [Pure]> {
  let summary = "The memory of a graph.variable";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$variable attr-dict";
}

def Exec_InputOp : Exec_Op<"input", [Pure]> {
  let summary = "The memory of a graph input, by its index in the module's `exec.inputs`";
  let arguments = (ins I64Attr:$index);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$index attr-dict";
}

def Exec_ConstantOp : Exec_Op<"constant", [Pure]> {
  let summary = "Read-only data of the binary";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Exec_Buffer:$result);
  let assemblyFormat = "$value attr-dict";
}
