// SPDX-License-Identifier: Apache-2.0
// Ops that move elements without computing. The lowering makes most of them strided views.
include "dialects/graph/graph_base.td"

def Graph_ReshapeOp : Graph_PureOp<"reshape", "", 0, [], ["getIterationSpace"]> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins Graph_Any:$input);
  let results = (outs Graph_Any:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_TransposeOp : Graph_PureOp<"transpose", "", 0, [AllElementTypesMatch<["input", "result"]>],
                                     ["getIterationSpace"]> {
  let summary = "Permutation of dims: result dim i is input dim permutation[i]";
  let arguments = (ins Graph_Any:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Any:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_BroadcastOp : Graph_PureOp<"broadcast", "", 0, [AllElementTypesMatch<["input", "result"]>],
                                     ["getIterationSpace"]> {
  let summary = "Repeats a tensor along new dims: input dim i becomes result dim dims[i]";
  let description = [{ `dims` is strictly increasing; a mapped dim keeps its size; a size-1 dim is first dropped by reshape. }];
  let arguments = (ins Graph_Any:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Any:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_SliceOp : Graph_PureOp<"slice", "", 0, [AllElementTypesMatch<["input", "result"]>],
                                 ["getIterationSpace"]> {
  let summary = "Elements offsets[i] + j * strides[i] of each dim";
  let description = [{ Strides are positive or, for reversal, negative; all elements lie inside the input. }];
  let arguments = (ins Graph_Any:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Any:$result);
  let hasFolder = 1;
}

def Graph_ConcatOp : Graph_PureOp<"concat", "", 0, [], ["getIterationSpace"]> {
  let summary = "Tensors one after the other along `dim`";
  let arguments = (ins Variadic<Graph_Any>:$inputs, I64Attr:$dim);
  let results = (outs Graph_Any:$result);
  let hasFolder = 1;
}

def Graph_PadOp : Graph_PureOp<"pad", "", 0, [AllElementTypesMatch<["input", "result"]>],
                               ["getIterationSpace"]> {
  let summary = "Places the input at offsets[i] + j * strides[i] of a result of zeros: the adjoint of slice";
  let arguments = (ins Graph_Any:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Any:$result);
}
