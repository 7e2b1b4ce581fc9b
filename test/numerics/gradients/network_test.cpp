// SPDX-License-Identifier: Apache-2.0
//
// The differentiate pass on whole networks: every parameter's gradient variable
// after @microbatch against differences of @evaluate. Legend of shapes: B
// batch, S sequence, D width, V classes.
#include "dialects/graph/builders.h"
#include "test/numerics/gradients/training_program.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace echelon;
using namespace echelon::graph;
using namespace echelon::test;

namespace {

/// Builds @forward and its variables; `finish` prints it, so that the printed
/// form is what is tested.
class Network {
public:
  Network() : builder(&context), g(builder, builder.getUnknownLoc()) {
    context.loadDialect<GraphDialect, func::FuncDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    forward = builder.create<func::FuncOp>(builder.getUnknownLoc(), "forward",
                                           builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(forward.addEntryBlock());
  }

  Value input(ArrayRef<int64_t> shape, bool isIndex = true) {
    Type element = isIndex ? Type(builder.getI64Type()) : builder.getF64Type();
    return forward.getBody().front().addArgument(
        RankedTensorType::get(shape, element), builder.getUnknownLoc());
  }

  Value parameter(StringRef name, ArrayRef<int64_t> shape,
                  bool trainable = true) {
    auto type = RankedTensorType::get(shape, builder.getF64Type());
    OpBuilder top(forward);
    auto zero = builder.getF64FloatAttr(0);
    top.create<VariableOp>(
        top.getUnknownLoc(), name, VariableClass::Parameter, type,
        InitAttr::get(&context, InitKind::Constant, zero, zero), trainable,
        FlatSymbolRefAttr(), StringAttr());
    return read(name, type);
  }

  Value read(StringRef name, Type type) {
    return builder.create<ReadOp>(builder.getUnknownLoc(), type,
                                  FlatSymbolRefAttr::get(&context, name));
  }

  Value embed(Value table, Value ids) {
    Shape shape = shapeOf(ids);
    shape.push_back(shapeOf(table)[1]);
    return builder.create<EmbeddingOp>(
        builder.getUnknownLoc(),
        RankedTensorType::get(shape, builder.getF64Type()), table, ids);
  }

  /// x [B S in] times a parameter [in out], plus a bias [out].
  Value linear(Value x, const std::string &name, int64_t out) {
    Value weight = parameter(name + ".weight", {shapeOf(x)[2], out});
    Value bias = parameter(name + ".bias", {out});
    Value product = g.einsum("b s i, i o -> b s o", x, weight);
    return g.add(product, g.broadcastTo(bias, shapeOf(product)));
  }

  Value layerNorm(Value x, const std::string &name) {
    int64_t width = shapeOf(x)[2];
    return builder.create<LayerNormOp>(builder.getUnknownLoc(), x.getType(), x,
                                       parameter(name + ".scale", {width}),
                                       parameter(name + ".bias", {width}),
                                       builder.getF64FloatAttr(1e-5));
  }

  Value rmsNorm(Value x, const std::string &name) {
    return builder.create<RmsNormOp>(
        builder.getUnknownLoc(), x.getType(), x,
        parameter(name + ".scale", {shapeOf(x)[2]}),
        builder.getF64FloatAttr(1e-6));
  }

  Value softmax(Value x) {
    return builder.create<SoftmaxOp>(builder.getUnknownLoc(), x.getType(), x);
  }

  Value attention(Value q, Value k, Value v, bool causal) {
    Shape shape = shapeOf(q);
    Type lse = RankedTensorType::get({shape[0], shape[2], shape[1]},
                                     builder.getF64Type());
    return builder
        .create<AttentionOp>(
            builder.getUnknownLoc(), TypeRange{q.getType(), lse}, q, k, v,
            Value(), builder.getF64FloatAttr(0.5), builder.getBoolAttr(causal),
            builder.getI64IntegerAttr(0))
        .getResult();
  }

  /// Cross-entropy of logits [B S V].
  std::string finish(Value logits, Value labels) {
    auto scalar = RankedTensorType::get({}, builder.getF64Type());
    auto loss = builder.create<SoftmaxCrossEntropyOp>(
        builder.getUnknownLoc(),
        TypeRange{scalar, scalar,
                  RankedTensorType::get(shapeOf(labels), builder.getF64Type())},
        logits, labels, builder.getI64IntegerAttr(-100),
        builder.getF64FloatAttr(0.1));
    return finish(ValueRange{loss.getSum(), loss.getCount()});
  }

  std::string finish(ValueRange results) {
    builder.create<func::ReturnOp>(builder.getUnknownLoc(), results);
    forward.setFunctionType(builder.getFunctionType(
        forward.getBody().front().getArgumentTypes(), results.getTypes()));
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return text;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp forward;
  GraphBuilder g;
};

const Tensor kIds{{2, 3}, {0, 4, -1, 2, 2, 0}};
const Tensor kLabels{{2, 3}, {1, -100, 3, 0, 4, 4}};

void check(const std::string &text, ArrayRef<Tensor> inputs, double low = -1,
           double high = 1) {
  TrainingProgram program(text);
  ASSERT_TRUE(program.differentiate()) << text;
  program.drawParameters(low, high);
  program.checkGradients(inputs);
}

TEST(Network, TiedEmbeddingWithResidualMlp) {
  Network n;
  Value ids = n.input({2, 3}), labels = n.input({2, 3});
  Value table = n.parameter("embedding", {5, 4});
  Value x = n.embed(table, ids);
  for (const char *block : {"a", "b"}) {
    std::string name = block;
    Value hidden = n.linear(n.layerNorm(x, name + ".norm"), name + ".up", 6);
    hidden = n.g.unary(UnaryKind::Gelu, hidden);
    x = n.g.add(x, n.linear(hidden, name + ".down", 4));
  }
  x = n.layerNorm(x, "final");
  check(n.finish(n.g.einsum("b s d, v d -> b s v", x, table), labels),
        {kIds, kLabels});
}

TEST(Network, DecoderBlockWithGroupedHeads) {
  Network n;
  Value ids = n.input({2, 3}), labels = n.input({2, 3});
  Value x = n.embed(n.parameter("embedding", {5, 4}), ids);
  Value normal = n.rmsNorm(x, "norm1");
  auto heads = [&](const std::string &name, int64_t count) {
    Value weight = n.parameter(name, {4, 2 * count});
    Value flat = n.g.einsum("b s i, i o -> b s o", normal, weight);
    return n.g.reshape(flat, {2, 3, count, 2});
  };
  Value q = heads("q", 4), k = heads("k", 2), v = heads("v", 2);
  Value mixed = n.g.reshape(n.attention(q, k, v, true), {2, 3, 8});
  x = n.g.add(x, n.linear(mixed, "o", 4));
  normal = n.rmsNorm(x, "norm2");
  Value gate = n.g.unary(UnaryKind::Silu, n.linear(normal, "gate", 5));
  Value up = n.linear(normal, "up", 5);
  x = n.g.add(x, n.linear(n.g.mul(gate, up), "down", 4));
  check(n.finish(n.linear(x, "head", 5), labels), {kIds, kLabels});
}

/// Attention from pieces: one projection sliced in three (whose gradients come
/// back as pads that tile), transposes, a select mask, softmax.
TEST(Network, AttentionFromPieces) {
  Network n;
  Value ids = n.input({2, 3}), labels = n.input({2, 3});
  Value x = n.embed(n.parameter("embedding", {5, 4}), ids);
  Value packed = n.linear(x, "qkv", 12);
  SmallVector<Value> parts;
  for (int64_t part = 0; part < 3; ++part) {
    Value one = n.g.slice(packed, {2, 3, 4}, {0, 0, 4 * part}, {1, 1, 1});
    parts.push_back(
        n.g.transpose(n.g.reshape(one, {2, 3, 2, 2}), {0, 2, 1, 3}));
  }
  Value scores = n.g.scale(
      n.g.einsum("b h q d, b h k d -> b h q k", parts[0], parts[1]), 0.5);
  auto row = RankedTensorType::get({3, 3}, n.builder.getF64Type());
  Value lower = n.builder.create<ConstantOp>(
      n.builder.getUnknownLoc(), row,
      DenseElementsAttr::get(row,
                             {1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0}));
  Value half = n.g.splat(row, 0.5);
  Value seen = n.g.broadcast(n.g.compare(Predicate::Gt, lower, half),
                             {2, 2, 3, 3}, {2, 3});
  scores = n.g.select(seen, scores, n.g.splat(scores.getType(), -1e30));
  Value mixed =
      n.g.einsum("b h q k, b h k d -> b q h d", n.softmax(scores), parts[2]);
  x = n.g.add(x, n.linear(n.g.reshape(mixed, {2, 3, 4}), "o", 4));
  check(n.finish(n.linear(x, "head", 5), labels), {kIds, kLabels});
}

/// Rotary positions: halves taken apart, negated and joined again.
TEST(Network, RotaryPositions) {
  Network n;
  Value ids = n.input({2, 3}), labels = n.input({2, 3});
  Value x = n.embed(n.parameter("embedding", {5, 4}), ids);
  Value low = n.g.slice(x, {2, 3, 2}, {0, 0, 0}, {1, 1, 1});
  Value high = n.g.slice(x, {2, 3, 2}, {0, 0, 2}, {1, 1, 1});
  Value turned =
      n.g.concat(ValueRange{n.g.unary(UnaryKind::Neg, high), low}, 2);
  Value angle = n.parameter("angle", {3, 4});
  Value cos =
      n.g.broadcast(n.g.unary(UnaryKind::Cos, angle), {2, 3, 4}, {1, 2});
  Value sin =
      n.g.broadcast(n.g.unary(UnaryKind::Sin, angle), {2, 3, 4}, {1, 2});
  x = n.g.add(n.g.mul(x, cos), n.g.mul(turned, sin));
  check(n.finish(n.linear(x, "head", 5), labels), {kIds, kLabels});
}

/// Slices that tile, that leave a gap between or behind, that overlap, and that
/// come in another order: their pads are joined or summed as fits.
TEST(Network, SlicesOfOneValue) {
  const std::vector<int64_t> cases[] = {{0, 2, 4}, {4, 2, 0}, {0, 1, 4},
                                        {0, 2, 2}, {0, 0, 0}, {0, 2},
                                        {2, 4},    {0, 4}};
  for (const std::vector<int64_t> &offsets : cases) {
    Network n;
    Value labels = n.input({2, 3});
    Value x = n.g.unary(UnaryKind::Tanh, n.parameter("x", {2, 3, 6}));
    Value product;
    for (int64_t offset : offsets) {
      Value part = n.g.slice(x, {2, 3, 2}, {0, 0, offset}, {1, 1, 1});
      product = product ? n.g.mul(product, part) : part;
    }
    check(n.finish(n.linear(product, "head", 5), labels), {kLabels});
  }
}

/// A variable that is read twice, a frozen one, one behind a compare, and one
/// that leads nowhere.
TEST(Network, FrozenAndUnusedParameters) {
  Network n;
  Value labels = n.input({2, 3});
  Value a = n.parameter("a", {2, 3, 5});
  Value again = n.read("a", a.getType());
  Value frozen = n.parameter("frozen", {2, 3, 5}, /*trainable=*/false);
  Value hidden = n.parameter("hidden", {2, 3, 5});
  n.g.mul(hidden, frozen);
  Value chosen = n.g.select(n.g.compare(Predicate::Lt, hidden, frozen), a,
                            n.g.mul(again, frozen));
  TrainingProgram program(n.finish(n.g.mul(chosen, again), labels));
  ASSERT_TRUE(program.differentiate());
  program.drawParameters();
  program.set("frozen", Draw(41).uniform({2, 3, 5}, -1, 1, 0.1));
  EXPECT_EQ(program.parameters(), (std::vector<std::string>{"a", "hidden"}));
  program.checkGradients({kLabels});
  EXPECT_EQ(program.get("grad.hidden").values, std::vector<double>(30, 0));
}

/// A loss that is no cross-entropy: mean squared error from pieces.
TEST(Network, MeanSquaredError) {
  Network n;
  Value x = n.input({2, 3, 4}, /*isIndex=*/false),
        target = n.input({2, 3, 2}, /*isIndex=*/false);
  Value y =
      n.linear(n.g.unary(UnaryKind::Sigmoid, n.linear(x, "in", 3)), "out", 2);
  Value error = n.g.sub(y, target);
  Value loss = n.g.reduce(ReduceKind::Mean, n.g.mul(error, error), {0, 1, 2});
  Draw draw(43);
  check(n.finish(ValueRange{n.g.scale(loss, 2), n.g.splat(loss.getType(), 2)}),
        {draw.uniform({2, 3, 4}), draw.uniform({2, 3, 2})});
}

/// A loss that reads a log-sum-exp has no gradient yet: the pass says so
/// instead of leaving the term out.
TEST(Network, LossOnCrossEntropyLseIsRefused) {
  TrainingProgram program(R"(
graph.variable parameter @x : tensor<2x3xf64> = #graph.init<constant, 0.0, 0.0> {trainable = true}
func.func @forward(%y: tensor<2xi64>) -> (tensor<f64>, tensor<f64>) {
  %x = graph.read @x : tensor<2x3xf64>
  %sum, %count, %lse = graph.softmax_cross_entropy %x, %y {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<2x3xf64>, tensor<2xi64>) -> (tensor<f64>, tensor<f64>, tensor<2xf64>)
  %z = graph.reduce sum %lse over [0] : (tensor<2xf64>) -> tensor<f64>
  %0 = graph.binary add %sum, %z : tensor<f64>
  return %0, %count : tensor<f64>, tensor<f64>
})");
  EXPECT_FALSE(program.differentiate());
  EXPECT_EQ(
      program.errors(),
      "no gradient for the log-sum-exp of 'graph.softmax_cross_entropy'\n");
}

TEST(Network, LossOnAttentionLseIsRefused) {
  TrainingProgram program(R"(
graph.variable parameter @q : tensor<1x2x1x2xf64> = #graph.init<constant, 0.0, 0.0> {trainable = true}
func.func @forward(%k: tensor<1x2x1x2xf64>) -> (tensor<f64>, tensor<f64>) {
  %q = graph.read @q : tensor<1x2x1x2xf64>
  %o, %lse = graph.attention %q, %k, %k {scale = 1.0 : f64, causal = false} : (tensor<1x2x1x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x2xf64>) -> (tensor<1x2x1x2xf64>, tensor<1x1x2xf64>)
  %0 = graph.reduce sum %lse over [0, 1, 2] : (tensor<1x1x2xf64>) -> tensor<f64>
  return %0, %0 : tensor<f64>, tensor<f64>
})");
  EXPECT_FALSE(program.differentiate());
  EXPECT_EQ(program.errors(),
            "no gradient for the log-sum-exp of 'graph.attention'\n");
}

} // namespace
