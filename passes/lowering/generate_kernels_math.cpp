// SPDX-License-Identifier: Apache-2.0
//
// Transcendental functions as polynomials. Coefficients are own minimax fits (iteratively reweighted least squares in
// double, December 2026), rounded to float; each fit's relative error is far below 2^-24.
#include "passes/lowering/generate_kernels_math.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::arith;

namespace echelon::lowering {

constexpr double kLog2E = 1.44269504088896340736;
// ln 2 in two parts: n * kLn2High is exact for |n| < 2^9.
constexpr double kLn2High = 0.693145751953125, kLn2Low = 1.42860682030941723212e-6;
// Adding 1.5 * 2^23 rounds a float to an integer in its low bits.
constexpr double kRound32 = 12582912.0, kRound64 = 6755399441055744.0;
constexpr int64_t kRound32Bits = 0x4B400000;

static FastMathFlagsAttr contract(OpBuilder &builder) {
  return FastMathFlagsAttr::get(builder.getContext(), FastMathFlags::contract);
}

Value ScalarMath::constant(Type type, double value) {
  if (auto floating = dyn_cast<FloatType>(type))
    return builder.create<ConstantOp>(loc, FloatAttr::get(floating, value));
  return builder.create<ConstantOp>(loc, IntegerAttr::get(type, int64_t(value)));
}

Value ScalarMath::i32(int64_t value) { return builder.create<ConstantIntOp>(loc, value, 32); }

Value ScalarMath::add(Value a, Value b) { return builder.create<AddFOp>(loc, a, b, contract(builder)); }
Value ScalarMath::sub(Value a, Value b) { return builder.create<SubFOp>(loc, a, b, contract(builder)); }
Value ScalarMath::mul(Value a, Value b) { return builder.create<MulFOp>(loc, a, b, contract(builder)); }
Value ScalarMath::div(Value a, Value b) { return builder.create<DivFOp>(loc, a, b); }
Value ScalarMath::fma(Value a, Value b, Value c) { return builder.create<math::FmaOp>(loc, a, b, c); }
Value ScalarMath::sqrt(Value x) { return builder.create<math::SqrtOp>(loc, x); }
Value ScalarMath::abs(Value x) { return builder.create<math::AbsFOp>(loc, x); }
Value ScalarMath::strictSub(Value a, Value b) { return builder.create<SubFOp>(loc, a, b); }

Value ScalarMath::copySign(Value size, Value sign) { return builder.create<math::CopySignOp>(loc, size, sign); }

Value ScalarMath::compare(CmpFPredicate predicate, Value a, Value b) {
  return builder.create<CmpFOp>(loc, predicate, a, b);
}

Value ScalarMath::select(Value condition, Value a, Value b) { return builder.create<SelectOp>(loc, condition, a, b); }

Value ScalarMath::bits(Value x) {
  unsigned width = x.getType().getIntOrFloatBitWidth();
  return builder.create<BitcastOp>(loc, builder.getIntegerType(width), x);
}

Value ScalarMath::fromBits(Value x) {
  Type type = x.getType().isInteger(64) ? Type(builder.getF64Type()) : Type(builder.getF32Type());
  return builder.create<BitcastOp>(loc, type, x);
}

/// c0 + c1 x + c2 x^2 ...
Value ScalarMath::polynomial(Value x, llvm::ArrayRef<double> coefficients) {
  Value sum = constant(x.getType(), coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, constant(x.getType(), c));
  return sum;
}

/// 2^n for -126 <= n <= 127.
Value ScalarMath::powerOfTwo(Value n) {
  bool wide = n.getType().isInteger(64);
  Value bias = constant(n.getType(), wide ? 1023 : 127), shift = constant(n.getType(), wide ? 52 : 23);
  return fromBits(builder.create<ShLIOp>(loc, builder.create<AddIOp>(loc, n, bias), shift));
}

ScalarMath::Exponential ScalarMath::reduceExponent(Value x) {
  // No conversion to integer: that of a NaN would be undefined.
  Value shifted = fma(x, f32(kLog2E), f32(kRound32));
  Value n = strictSub(shifted, f32(kRound32));
  Value r = fma(n, f32(-kLn2High), x);
  r = fma(n, f32(-kLn2Low), r);
  Value tail = polynomial(r, {0.5, 0.1666666716337204, 0.04166635498404503, 0.008333273231983185, 0.0013941050274297595,
                              0.00019914229051209986});
  Value square = builder.create<MulFOp>(loc, r, r);
  return {fma(square, tail, r), builder.create<SubIOp>(loc, bits(shifted), i32(kRound32Bits))};
}

Value ScalarMath::exp(Value x) {
  // Beyond these bounds the result is infinity or zero anyway; a NaN passes both comparisons unchanged.
  x = select(compare(CmpFPredicate::OGT, x, f32(89)), f32(89), x);
  x = select(compare(CmpFPredicate::OLT, x, f32(-104)), f32(-104), x);
  Exponential e = reduceExponent(x);
  // Two factors, since 2^n alone may be infinite or denormal where the product is not.
  Value half = builder.create<ShRSIOp>(loc, e.power, i32(1));
  Value scale = powerOfTwo(half), rest = powerOfTwo(builder.create<SubIOp>(loc, e.power, half));
  return builder.create<MulFOp>(loc, fma(scale, e.fraction, scale), rest);
}

Value ScalarMath::tanh(Value x) {
  // tanh a = (e^2a - 1) / (e^2a + 1), without cancellation near 0; 1 - tanh 10 is below half an ulp.
  Value a = abs(x);
  a = select(compare(CmpFPredicate::OGT, a, f32(10)), f32(10), a);
  Exponential e = reduceExponent(builder.create<AddFOp>(loc, a, a));
  Value scale = powerOfTwo(e.power);
  Value minusOne = fma(scale, e.fraction, strictSub(scale, f32(1)));
  return copySign(div(minusOne, builder.create<AddFOp>(loc, minusOne, f32(2))), x);
}

Value ScalarMath::erf(Value x) {
  Value a = abs(x), square = builder.create<MulFOp>(loc, x, x);
  Value small = polynomial(square, {0.128379225730896, -0.37612631916999817, 0.11283672600984573, -0.026858104392886162,
                                    0.0051977974362671375, -0.000810596568044275, 8.215427078539506e-05});
  small = fma(x, small, x);
  // 1 - exp(-q(a)) with q = -log erfc; 1 - erf 4 is below half an ulp.
  a = select(compare(CmpFPredicate::OGT, a, f32(4)), f32(4), a);
  Value q =
      polynomial(a, {-0.00018344310228712857, 1.1295567750930786, 0.6332626342773438, 0.10837246477603912,
                     -0.025178959593176842, 0.004193607717752457, -0.00043910567183047533, 2.149605097656604e-05});
  Value complement = exp(builder.create<NegFOp>(loc, q));
  Value large = copySign(strictSub(f32(1), complement), x);
  return select(compare(CmpFPredicate::OLT, a, f32(0.95)), small, large);
}

Value ScalarMath::sigmoid(Value x) {
  Value e = exp(builder.create<NegFOp>(loc, x));
  return div(f32(1), builder.create<AddFOp>(loc, e, f32(1)));
}

Value ScalarMath::log(Value x) {
  Value tiny = compare(CmpFPredicate::OLT, x, f32(1.17549435082228750797e-38));
  Value scaled = select(tiny, builder.create<MulFOp>(loc, x, f32(8388608)), x);
  // x = 2^n m with m in [sqrt 1/2, sqrt 2).
  Value raw = bits(scaled);
  Value n = builder.create<ShRSIOp>(loc, builder.create<SubIOp>(loc, raw, i32(0x3F3504F3)), i32(23));
  Value m = fromBits(builder.create<SubIOp>(loc, raw, builder.create<ShLIOp>(loc, n, i32(23))));
  n = builder.create<SubIOp>(loc, n, select(tiny, i32(23), i32(0)));
  Value power = builder.create<SIToFPOp>(loc, builder.getF32Type(), n);
  Value f = strictSub(m, f32(1)), square = builder.create<MulFOp>(loc, f, f);
  Value tail = polynomial(f, {0.3333331048488617, -0.24999986588954926, 0.20002231001853943, -0.1666926145553589,
                              0.14218565821647644, -0.12384090572595596, 0.11873454600572586, -0.11791632324457169,
                              0.06916475296020508});
  Value sum = builder.create<MulFOp>(loc, builder.create<MulFOp>(loc, square, f), tail);
  sum = fma(power, f32(kLn2Low), sum);
  sum = fma(square, f32(-0.5), sum);
  sum = fma(power, f32(kLn2High), builder.create<AddFOp>(loc, f, sum));
  Value infinity = f32(INFINITY), zero = f32(0);
  Value special = select(compare(CmpFPredicate::OEQ, x, zero), f32(-INFINITY),
                         select(compare(CmpFPredicate::OEQ, x, infinity), infinity, f32(NAN)));
  Value ordinary =
      builder.create<AndIOp>(loc, compare(CmpFPredicate::OGT, x, zero), compare(CmpFPredicate::OLT, x, infinity));
  return select(ordinary, sum, special);
}

Value ScalarMath::sine(Value x, int64_t quarterTurns) {
  Type f64 = builder.getF64Type();
  Value wide = builder.create<ExtFOp>(loc, f64, x);
  Value shifted = fma(wide, constant(f64, 0.63661977236758134308), constant(f64, kRound64));
  Value n = strictSub(shifted, constant(f64, kRound64));
  Value r64 = fma(n, constant(f64, -1.57079632679489655800), wide);
  r64 = fma(n, constant(f64, -6.12323399573676603587e-17), r64);
  Value r = builder.create<TruncFOp>(loc, builder.getF32Type(), r64);
  Value quadrant = builder.create<TruncIOp>(loc, builder.getI32Type(), bits(shifted));
  quadrant = builder.create<AddIOp>(loc, quadrant, i32(quarterTurns));
  Value z = builder.create<MulFOp>(loc, r, r);
  Value sinTail = polynomial(z, {-0.16666655242443085, 0.008332173340022564, -0.00019516656175255775});
  Value cosTail = polynomial(z, {0.04166664555668831, -0.001388736185617745, 2.4437729734927416e-05});
  Value sinR = fma(builder.create<MulFOp>(loc, r, z), sinTail, r);
  Value cosR = fma(builder.create<MulFOp>(loc, z, z), cosTail, fma(z, f32(-0.5), f32(1)));
  auto bit = [&](int64_t mask) -> Value {
    Value masked = builder.create<AndIOp>(loc, quadrant, i32(mask));
    return builder.create<CmpIOp>(loc, CmpIPredicate::ne, masked, i32(0));
  };
  Value value = select(bit(1), cosR, sinR);
  return select(bit(2), builder.create<NegFOp>(loc, value), value);
}

/// log of a positive, normal f64 to about 1e-13: 2 atanh((m - 1) / (m + 1)).
Value ScalarMath::log64(Value x) {
  Type f64 = builder.getF64Type(), i64 = builder.getI64Type();
  Value raw = bits(x), shift = constant(i64, 52);
  Value pivot = builder.create<ConstantIntOp>(loc, 0x3FE6A09E667F3BCD, 64);
  Value n = builder.create<ShRSIOp>(loc, builder.create<SubIOp>(loc, raw, pivot), shift);
  Value m = fromBits(builder.create<SubIOp>(loc, raw, builder.create<ShLIOp>(loc, n, shift)));
  Value one = constant(f64, 1);
  Value s = div(strictSub(m, one), builder.create<AddFOp>(loc, m, one)), z = builder.create<MulFOp>(loc, s, s);
  Value series = polynomial(z, {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15});
  return fma(builder.create<SIToFPOp>(loc, f64, n), constant(f64, M_LN2), builder.create<MulFOp>(loc, s, series));
}

/// e^x to about 1e-12 for |x| <= 700.
Value ScalarMath::exp64(Value x) {
  Type f64 = builder.getF64Type();
  Value shifted = fma(x, constant(f64, kLog2E), constant(f64, kRound64));
  Value n = strictSub(shifted, constant(f64, kRound64));
  Value r = fma(n, constant(f64, -M_LN2), x);
  double coefficients[12] = {1};
  for (int k = 1; k < 12; ++k)
    coefficients[k] = coefficients[k - 1] / k;
  Value base = builder.create<ConstantIntOp>(loc, 0x4338000000000000, 64);
  Value power = powerOfTwo(builder.create<SubIOp>(loc, bits(shifted), base));
  return builder.create<MulFOp>(loc, polynomial(r, coefficients), power);
}

Value ScalarMath::pow(Value x, Value y) {
  Type f64 = builder.getF64Type(), f32Type = builder.getF32Type();
  Value zero = f32(0), one = f32(1), size = abs(x);
  Value wide = builder.create<ExtFOp>(loc, f64, y);
  Value product = builder.create<MulFOp>(loc, log64(builder.create<ExtFOp>(loc, f64, size)), wide);
  product = select(compare(CmpFPredicate::OGT, product, constant(f64, 200)), constant(f64, 200), product);
  product = select(compare(CmpFPredicate::OLT, product, constant(f64, -200)), constant(f64, -200), product);
  Value result = builder.create<TruncFOp>(loc, f32Type, exp64(product));
  // Odd integers keep the sign of x; other exponents of a negative number have no real value.
  Value floor = builder.create<math::FloorOp>(loc, y), halfY = builder.create<MulFOp>(loc, y, f32(0.5));
  Value integral = compare(CmpFPredicate::OEQ, floor, y);
  Value odd = builder.create<AndIOp>(loc, integral,
                                     compare(CmpFPredicate::ONE, builder.create<math::FloorOp>(loc, halfY), halfY));
  Value negative = compare(CmpFPredicate::OLT, x, zero), yNegative = compare(CmpFPredicate::OLT, y, zero);
  Value infinity = f32(INFINITY), sizeInfinite = compare(CmpFPredicate::OEQ, size, infinity);
  result = select(compare(CmpFPredicate::OEQ, x, zero), select(yNegative, infinity, zero), result);
  result = select(sizeInfinite, select(yNegative, zero, infinity), result);
  Value signedResult = copySign(result, x);
  Value ofNegative = select(integral, result, select(sizeInfinite, result, f32(NAN)));
  result = select(odd, signedResult, select(negative, ofNegative, result));
  result = select(compare(CmpFPredicate::UNO, x, y), f32(NAN), result);
  Value trivial = builder.create<OrIOp>(loc, compare(CmpFPredicate::OEQ, y, zero), compare(CmpFPredicate::OEQ, x, one));
  return select(trivial, one, result);
}

Value ScalarMath::powConstant(Value x, double exponent) {
  double doubled = 2 * exponent;
  if (doubled != std::floor(doubled) || std::fabs(doubled) > 64)
    return {};
  uint64_t whole = uint64_t(std::fabs(exponent));
  bool half = std::fabs(doubled) != 2.0 * double(whole);
  Value result, base = x;
  for (uint64_t rest = whole; rest; rest >>= 1) {
    if (rest & 1)
      result = result ? Value(builder.create<MulFOp>(loc, result, base)) : base;
    if (rest > 1)
      base = builder.create<MulFOp>(loc, base, base);
  }
  if (half)
    result = result ? Value(builder.create<MulFOp>(loc, result, sqrt(x))) : sqrt(x);
  if (!result)
    return constant(x.getType(), 1);
  return exponent < 0 ? div(constant(x.getType(), 1), result) : result;
}

Value ScalarMath::roundToBf16(Value x) {
  Value raw = bits(x);
  Value lowest = builder.create<AndIOp>(loc, builder.create<ShRUIOp>(loc, raw, i32(16)), i32(1));
  Value rounded = builder.create<AddIOp>(loc, raw, builder.create<AddIOp>(loc, lowest, i32(0x7FFF)));
  rounded = builder.create<AndIOp>(loc, rounded, i32(0xFFFF0000 - 0x100000000));
  // Rounding up may carry a NaN into an infinity.
  return select(compare(CmpFPredicate::UNO, x, x), f32(NAN), fromBits(rounded));
}

Type ScalarMath::memoryType(Type element) {
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 8)) : element;
}

Type ScalarMath::computeType(Type element) {
  return element.isBF16() ? Type(Float32Type::get(element.getContext())) : element;
}

Value ScalarMath::fromMemory(Value loaded, Type element) {
  if (element.isBF16()) {
    Value wide = builder.create<ExtUIOp>(loc, builder.getI32Type(), loaded);
    return fromBits(builder.create<ShLIOp>(loc, wide, i32(16)));
  }
  if (element.isInteger(1))
    return builder.create<CmpIOp>(loc, CmpIPredicate::ne, loaded, constant(loaded.getType(), 0));
  return loaded;
}

Value ScalarMath::toMemory(Value value, Type element) {
  if (element.isBF16()) {
    Value high = builder.create<ShRUIOp>(loc, bits(roundToBf16(value)), i32(16));
    return builder.create<TruncIOp>(loc, builder.getIntegerType(16), high);
  }
  if (element.isInteger(1))
    return builder.create<ExtUIOp>(loc, builder.getIntegerType(8), value);
  return value;
}

} // namespace echelon::lowering
