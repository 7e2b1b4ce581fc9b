// SPDX-License-Identifier: Apache-2.0
// What persists between microbatches and steps, and constants.
include "dialects/graph/graph_base.td"

def Graph_VariableClass : I32EnumAttr<"VariableClass", "class of a variable, which is the arena it lives in", [
    I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Gradient", 1, "gradient">,
    I32EnumAttrCase<"Optimizer", 2, "optimizer">, I32EnumAttrCase<"Metric", 3, "metric">]> {
  let cppNamespace = "::echelon::graph";
  let genSpecializedAttr = 0;
}
def Graph_VariableClassAttr : EnumAttr<Graph_Dialect, Graph_VariableClass, "variable_class">;

def Graph_FileAttr : AttrDef<Graph_Dialect, "File"> {
  let mnemonic = "file";
  let summary = "First value by reference: `length` bytes at `offset` of `path` (relative to the model), as `element`";
  let parameters = (ins StringRefParameter<>:$path, "uint64_t":$offset, "uint64_t":$length, "::mlir::Type":$element);
  let assemblyFormat = "`<` $path `,` $offset `,` $length `,` $element `>`";
}

def Graph_InitKind : I32EnumAttr<"InitKind", "rule for first values", [
    I32EnumAttrCase<"Constant", 1, "constant">, I32EnumAttrCase<"Normal", 2, "normal">,
    I32EnumAttrCase<"Uniform", 3, "uniform">]> {
  let cppNamespace = "::echelon::graph";
}
def Graph_InitAttr : AttrDef<Graph_Dialect, "Init"> {
  let mnemonic = "init";
  let summary = "First value by rule: constant a; normal(mean a, std b); uniform [a, b)";
  let parameters = (ins EnumParameter<Graph_InitKind>:$kind, "::mlir::FloatAttr":$a, "::mlir::FloatAttr":$b);
  let assemblyFormat = "`<` $kind `,` $a `,` $b `>`";
}

def Graph_VariableOp : Op<Graph_Dialect, "variable", [Symbol]> {
  let summary = "Declares a persistent tensor: parameter, gradient, optimizer state or metric";
  let description = [{
    Stands at module level under its ONNX name. `first`: #graph.file or #graph.init. `owner`: the parameter that a
    gradient or state belongs to. `roles`: what the parameter is, for the globs @norm, @bias, @embedding.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Graph_VariableClassAttr:$variable_class, TypeAttr:$type,
                       AnyAttr:$first, DefaultValuedAttr<BoolAttr, "false">:$trainable,
                       OptionalAttr<FlatSymbolRefAttr>:$owner, OptionalAttr<StrAttr>:$role);
  let assemblyFormat = "$variable_class $sym_name `:` $type `=` $first attr-dict";
  let hasVerifier = 1;
}

def Graph_ReadOp : Graph_Op<"read", "->...", 0, [NonDifferentiable, MemoryEffects<[MemRead]>,
                            DeclareOpInterfaceMethods<SymbolUserOpInterface>], ["getIterationSpace"]> {
  let summary = "The present value of a variable";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Graph_Any:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Graph_AssignOp : Graph_Op<"assign", "... ->", 0, [NonDifferentiable, MemoryEffects<[MemWrite]>,
                              DeclareOpInterfaceMethods<SymbolUserOpInterface>], ["getIterationSpace"]> {
  let summary = "Replaces the value of a variable";
  let arguments = (ins FlatSymbolRefAttr:$variable, Graph_Any:$value);
  let assemblyFormat = "$value `to` $variable attr-dict `:` type($value)";
}

def Graph_AccumulateOp : Graph_Op<"accumulate", "... ->", 1, [NonDifferentiable, MemoryEffects<[MemRead, MemWrite]>,
                                  DeclareOpInterfaceMethods<SymbolUserOpInterface>], ["getIterationSpace"]> {
  let summary = "Adds to the value of a variable: gradients and loss sums over microbatches";
  let arguments = (ins FlatSymbolRefAttr:$variable, Graph_Float:$value);
  let assemblyFormat = "$value `into` $variable attr-dict `:` type($value)";
}

def Graph_ConstantOp : Graph_Op<"constant", "->...", 0, [Pure, NonDifferentiable, ConstantLike],
                                ["getIterationSpace", "buildLocal"]> {
  let summary = "A constant tensor; splats cost nothing";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Any:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasFolder = 1;
}
