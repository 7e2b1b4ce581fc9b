// SPDX-License-Identifier: Apache-2.0
//
// The graph dialect: what a training step computes, on one ideal device. Forward, backward and optimizer share one
// op set. Every shape is static; broadcasting is explicit; elementwise operands have equal shapes.
#ifndef ECHELON_GRAPH_BASE_TD
#define ECHELON_GRAPH_BASE_TD
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/graph/graph_interfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::echelon::graph";
  let summary = "What a training step computes, on one ideal device";
  let description = [{
    Tensors with static shapes. An op states its iteration space, its gradient and its kernel through three
    interfaces; ONNX's long tail is composed from these ops by the importer.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    template <typename... Ops> void addFamilyOps() { addOperations<Ops...>(); }
    void registerFamilyAttributes();
  }];
}

def Graph_Float : StaticShapeTensorOf<[F32, BF16, F64]>;
def Graph_Index : StaticShapeTensorOf<[I64, I32]>;
def Graph_Bool : StaticShapeTensorOf<[I1]>;
def Graph_Any : StaticShapeTensorOf<[F32, BF16, F64, I64, I32, I1]>;

/// `iteration`: the iteration space ("" where the op computes it), `flops` a point, `computed`: the methods of
/// IterationSpaceOpInterface that the op's .cpp defines.
class Graph_Op<string mnemonic, string iteration, int flops, list<Trait> traits = [],
               list<string> computed = []>
    : Op<Graph_Dialect, mnemonic,
         !listconcat([DeclareOpInterfaceMethods<IterationSpaceOpInterface, computed>], traits)> {
  string iterationText = iteration;
  string extra = "";
  let extraClassDeclaration = "static ::llvm::StringRef iterationText() { return \"" # iteration # "\"; }\n" #
                              "static int64_t flopsPerPoint() { return " # flops # "; }\n" # extra;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

/// An op of values only, with a gradient.
class Graph_PureOp<string mnemonic, string iteration, int flops, list<Trait> traits = [],
                   list<string> computed = []>
    : Graph_Op<mnemonic, iteration, flops,
               !listconcat([Pure, DeclareOpInterfaceMethods<DifferentiableOpInterface>], traits), computed>;

/// An op of values only that stands in backward or update code and is never differentiated.
class Graph_GradOp<string mnemonic, string iteration, int flops, list<Trait> traits = [],
                   list<string> computed = []>
    : Graph_Op<mnemonic, iteration, flops, !listconcat([Pure, NonDifferentiable], traits), computed>;

def HasKernel : DeclareOpInterfaceMethods<KernelOpInterface>;
#endif
