// SPDX-License-Identifier: Apache-2.0
// Entries, launches and generated kernels.
include "dialects/exec/exec_base.td"

def Exec_EntryOp : Exec_Op<"entry", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "What the runtime calls: microbatch, update, evaluate";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Exec_LaunchOp : Exec_Op<"launch"> {
  let summary = "Calls a kernel: a row of kernels.def or an exec.kernel of this module";
  let description = [{
    `descriptor`: the consecutive 64-bit fields (i64 or f64) of the kernel's descriptor struct, empty if it has none.
    `arguments`: for each pointer argument the index of the operand, or -1 for null. `offsets`: bytes added to each
    operand. `writes`: which operands are written; the others are only read. A written operand may also be read.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Exec_Buffer>:$buffers, ArrayAttr:$descriptor,
                       DenseI64ArrayAttr:$arguments, DenseI64ArrayAttr:$offsets, DenseBoolArrayAttr:$writes);
  let assemblyFormat = "$callee `(` $buffers `)` `args` $arguments `offsets` $offsets `writes` $writes `descriptor` $descriptor attr-dict";
  let hasVerifier = 1;
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "A kernel to be generated: one graph.fused and the strides of its operands and results";
  let description = [{
    The block's arguments are the operands of the graph.fused inside. `operand_strides` and `result_strides`: element
    strides of each tensor (0 where a dim is repeated). `accumulate`: per result, add to memory instead of replacing it.
    The generated function takes one pointer per operand, then one per result, in that order.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$operand_strides, ArrayAttr:$result_strides,
                       DenseBoolArrayAttr:$accumulate);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `operands` $operand_strides `results` $result_strides `accumulate` $accumulate attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Exec_YieldOp : Exec_Op<"yield", [Terminator, Pure, HasParent<"KernelOp">]> {
  let summary = "The results of a kernel";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "operands attr-dict `:` type(operands)";
}
