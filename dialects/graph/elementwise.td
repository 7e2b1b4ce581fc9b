// SPDX-License-Identifier: Apache-2.0
// Pointwise ops; operands of one op have equal shapes.
include "dialects/graph/graph_base.td"

def Graph_UnaryKind : I32EnumAttr<"UnaryKind", "pointwise function of one operand", [
    I32EnumAttrCase<"Neg", 0, "neg">, I32EnumAttrCase<"Exp", 1, "exp">, I32EnumAttrCase<"Log", 2, "log">,
    I32EnumAttrCase<"Sqrt", 3, "sqrt">, I32EnumAttrCase<"Rsqrt", 4, "rsqrt">,
    I32EnumAttrCase<"Reciprocal", 5, "reciprocal">, I32EnumAttrCase<"Tanh", 6, "tanh">,
    I32EnumAttrCase<"Erf", 7, "erf">, I32EnumAttrCase<"Sigmoid", 8, "sigmoid">,
    I32EnumAttrCase<"Sin", 9, "sin">, I32EnumAttrCase<"Cos", 10, "cos">, I32EnumAttrCase<"Abs", 11, "abs">,
    I32EnumAttrCase<"Sign", 12, "sign">, I32EnumAttrCase<"Not", 13, "not">,
    I32EnumAttrCase<"Gelu", 14, "gelu">, I32EnumAttrCase<"GeluTanh", 15, "gelu_tanh">,
    I32EnumAttrCase<"Silu", 16, "silu">, I32EnumAttrCase<"Relu", 17, "relu">]> {
  let cppNamespace = "::echelon::graph";
  let genSpecializedAttr = 0;
}
def Graph_UnaryKindAttr : EnumAttr<Graph_Dialect, Graph_UnaryKind, "unary_kind">;

def Graph_BinaryKind : I32EnumAttr<"BinaryKind", "pointwise function of two operands", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">, I32EnumAttrCase<"Mul", 2, "mul">,
    I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"Max", 4, "max">, I32EnumAttrCase<"Min", 5, "min">,
    I32EnumAttrCase<"Pow", 6, "pow">, I32EnumAttrCase<"And", 7, "and">, I32EnumAttrCase<"Or", 8, "or">]> {
  let cppNamespace = "::echelon::graph";
  let genSpecializedAttr = 0;
}
def Graph_BinaryKindAttr : EnumAttr<Graph_Dialect, Graph_BinaryKind, "binary_kind">;

def Graph_Predicate : I32EnumAttr<"Predicate", "comparison", [
    I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Lt", 2, "lt">,
    I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]> {
  let cppNamespace = "::echelon::graph";
  let genSpecializedAttr = 0;
}
def Graph_PredicateAttr : EnumAttr<Graph_Dialect, Graph_Predicate, "predicate">;

def Graph_UnaryOp : Graph_PureOp<"unary", "... -> ...", 1, [AllTypesMatch<["input", "result"]>]> {
  let summary = "Pointwise function of one tensor";
  let description = [{
    `gelu` is x/2 (1 + erf(x/sqrt 2)), `gelu_tanh` its tanh form (Hendrycks and Gimpel, arXiv 1606.08415), `silu`
    x sigmoid(x). Gradients at kinks: relu'(0) = 0, abs'(0) = 0.
  }];
  let arguments = (ins Graph_UnaryKindAttr:$kind, Graph_Any:$input);
  let results = (outs Graph_Any:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Graph_BinaryOp : Graph_PureOp<"binary", "..., ... -> ...", 1,
                                  [AllTypesMatch<["lhs", "rhs", "result"]>]> {
  let summary = "Pointwise function of two tensors of one type";
  let description = [{
    `max` and `min` return NaN if an operand is NaN; on ties both operands get half the gradient. `pow` with a constant
    exponent never takes a logarithm. `and`, `or` are for booleans.
  }];
  let arguments = (ins Graph_BinaryKindAttr:$kind, Graph_Any:$lhs, Graph_Any:$rhs);
  let results = (outs Graph_Any:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Graph_CompareOp : Graph_Op<"compare", "..., ... -> ...", 1,
                               [Pure, NonDifferentiable, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "Pointwise comparison; `ne` is true where an operand is NaN, the others are false";
  let arguments = (ins Graph_PredicateAttr:$predicate, Graph_Any:$lhs, Graph_Any:$rhs);
  let results = (outs Graph_Bool:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Graph_SelectOp : Graph_PureOp<"select", "..., ..., ... -> ...", 1,
                                  [AllTypesMatch<["onTrue", "onFalse", "result"]>]> {
  let summary = "Pointwise choice; a NaN of the side not chosen never leaks into value or gradient";
  let arguments = (ins Graph_Bool:$condition, Graph_Any:$onTrue, Graph_Any:$onFalse);
  let results = (outs Graph_Any:$result);
}

def Graph_ConvertOp : Graph_PureOp<"convert", "... -> ...", 0> {
  let summary = "Change of element type; integers to floats exactly where possible, floats to nearest even";
  let arguments = (ins Graph_Any:$input);
  let results = (outs Graph_Any:$result);
  let hasFolder = 1;
}
