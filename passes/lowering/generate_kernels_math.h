// SPDX-License-Identifier: Apache-2.0
//
// Scalar arithmetic of generated kernels: transcendental functions as branch-free polynomials that the loop vectorizer
// turns into full-width code, and the memory forms of element types. No function of libm is ever called.
#ifndef ECHELON_PASSES_LOWERING_GENERATE_KERNELS_MATH_H
#define ECHELON_PASSES_LOWERING_GENERATE_KERNELS_MATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace echelon::lowering {

/// Emits ops on scalars at the builder's insertion point. Floats are f32 unless a function says otherwise; NaN goes
/// through every function. Error bounds are the worst ones that test/numerics/fused_math_test.cpp measured.
class ScalarMath {
public:
  ScalarMath(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// e^x: 2 ulp, gradual underflow, overflow to infinity.
  mlir::Value exp(mlir::Value x);
  /// Natural logarithm: 2 ulp; log 0 = -inf, log of a negative number is NaN.
  mlir::Value log(mlir::Value x);
  /// 3 ulp.
  mlir::Value tanh(mlir::Value x);
  /// 2 ulp.
  mlir::Value erf(mlir::Value x);
  /// 1 / (1 + e^-x), without overflow at either end.
  mlir::Value sigmoid(mlir::Value x);
  /// sin and cos, reduced in f64: 2 ulp of the larger of |value| and 2^-24 while |x| <= 2^30.
  mlir::Value sin(mlir::Value x) { return sine(x, 0); }
  mlir::Value cos(mlir::Value x) { return sine(x, 1); }
  /// x^y for any finite operands, computed in f64: 1 ulp.
  mlir::Value pow(mlir::Value x, mlir::Value y);
  /// x^exponent without a logarithm where exponent is a multiple of 1/2 up to 32 in size; null otherwise.
  mlir::Value powConstant(mlir::Value x, double exponent);
  mlir::Value sqrt(mlir::Value x);
  mlir::Value abs(mlir::Value x);
  mlir::Value copySign(mlir::Value size, mlir::Value sign);
  /// The nearest bf16 value (ties to even), as an f32.
  mlir::Value roundToBf16(mlir::Value x);

  /// A constant of `type` (float or integer).
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value f32(double value) { return constant(builder.getF32Type(), value); }
  mlir::Value i32(int64_t value);
  /// Arithmetic with contraction into fma allowed.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// How an element type lies in memory (bf16 as i16, i1 as i8) and which type computes with it (bf16 as f32).
  static mlir::Type memoryType(mlir::Type element);
  static mlir::Type computeType(mlir::Type element);
  /// A loaded element as a value to compute with, and back.
  mlir::Value fromMemory(mlir::Value loaded, mlir::Type element);
  mlir::Value toMemory(mlir::Value value, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  struct Exponential {
    mlir::Value fraction; // e^r - 1
    mlir::Value power;    // the integer n of e^x = 2^n e^r
  };
  Exponential reduceExponent(mlir::Value x);
  mlir::Value powerOfTwo(mlir::Value n);
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);
  mlir::Value strictSub(mlir::Value a, mlir::Value b);
  mlir::Value bits(mlir::Value x);
  mlir::Value fromBits(mlir::Value x);
  mlir::Value sine(mlir::Value x, int64_t quarterTurns);
  mlir::Value log64(mlir::Value x);
  mlir::Value exp64(mlir::Value x);
};

} // namespace echelon::lowering

#endif
