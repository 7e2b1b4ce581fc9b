// SPDX-License-Identifier: Apache-2.0
//
// The three op interfaces of the house: an op is its iteration space, its gradient, its kernel.
#ifndef ECHELON_GRAPH_INTERFACES_TD
#define ECHELON_GRAPH_INTERFACES_TD
include "mlir/IR/OpBase.td"

def IterationSpaceOpInterface : OpInterface<"IterationSpaceOpInterface"> {
  let cppNamespace = "::echelon::graph";
  let description = [{
    What an op iterates over, by named dims. One string gives shape checks, the sharding rule, the FLOPs and the
    local form on a device.
  }];
  let methods = [
    InterfaceMethod<[{The named dims of operands and results, sizes bound from the op's types. Fails, without a
      diagnostic, only on IR that does not verify.}],
      "::mlir::FailureOr<::echelon::IterationSpace>", "getIterationSpace", (ins), "",
      [{ return ::echelon::graph::bindIterationSpace($_op, ConcreteOp::iterationText()); }]>,
    InterfaceMethod<[{FLOPs of one execution (2 per multiply-add): points x flopsPerPoint by default.}],
      "int64_t", "getFlops", (ins), "",
      [{ return ::echelon::graph::countFlops($_op, ConcreteOp::flopsPerPoint()); }]>,
    InterfaceMethod<[{The same op on local operands, where name i has `sizes[i]` elements. By default a clone with
      result types from the sizes; ops whose attributes hold sizes override it. Null with a reason in `why`
      where the op cannot be cut so.}],
      "::mlir::Operation *", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::llvm::ArrayRef<int64_t>":$sizes, "std::string &":$why), "",
      [{ return ::echelon::graph::cloneLocal($_op, builder, operands, sizes, why); }]>
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::echelon::graph";
  let description = [{
    Reverse mode. There is no default: an op without a gradient is an undefined reference at link time, or carries
    the trait NonDifferentiable.
  }];
  let methods = [
    InterfaceMethod<[{Given the gradient of each result (null where it is not needed), builds and returns the
      gradient of each operand (null for an operand that has none). Recomputes or reads forward values of this
      op; never an optional output of the ONNX node.}],
      "::llvm::SmallVector<::mlir::Value>", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients)>
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::echelon::graph";
  let description = [{
    How an op calls its library kernel. Ops without this interface are views, state, or become generated kernels.
  }];
  let methods = [
    InterfaceMethod<[{The call for operands and results laid out as the given strided views: the kernel's name
      (a row of runtime/abi/kernels.def), its descriptor as consecutive 64-bit fields, and its pointer arguments
      in order. Failure where the kernel cannot take such strides: the lowering then makes copies.}],
      "::mlir::FailureOr<::echelon::graph::KernelCall>", "describeKernel",
      (ins "::llvm::ArrayRef<::echelon::StridedView>":$operands,
           "::llvm::ArrayRef<::echelon::StridedView>":$results)>,
    InterfaceMethod<[{For each operand, then each result, the order of its dims (outermost first) in which dense memory
      always suits the kernel. Empty, the default: the dims' own order.}],
      "::llvm::SmallVector<::llvm::SmallVector<int64_t>>", "getDenseOrders", (ins), "", [{ return {}; }]>
  ];
}

def NonDifferentiable : NativeOpTrait<"NonDifferentiable"> {
  let cppNamespace = "::echelon::graph";
}
#endif
