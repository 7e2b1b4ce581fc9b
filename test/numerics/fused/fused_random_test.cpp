// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of elementwise ops, broadcasts, reductions and barriers: whatever groups come out, all values that
// leave the function must be right.
#include "test/numerics/fused/fused_program.h"
#include "test/numerics/fused/fused_reference.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace echelon::test {
namespace {

/// Writes one random function.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string run(int steps) {
    std::string arguments;
    for (const char *type : {kFull, kFull, kRow, kColumn, kPlane, kScalar}) {
      std::string name = "%a" + std::to_string(values.size());
      arguments += (arguments.empty() ? "" : ", ") + name + ": " + type;
      values.push_back({name, type});
    }
    size_t first = values.size();
    for (int i = 0; i < steps; ++i)
      step();
    // The last values leave, and some others.
    std::string names, types;
    for (size_t i = first; i < values.size(); ++i)
      if (i + 3 >= values.size() || pick(4) == 0) {
        names += (names.empty() ? "" : ", ") + values[i].name;
        types += (types.empty() ? "" : ", ") + values[i].type;
      }
    return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + body + "return " + names + " : " + types + "\n}";
  }

private:
  struct Named {
    std::string name, type;
  };
  static constexpr const char *kFull = "tensor<3x37x40xf32>", *kRow = "tensor<3x37xf32>", *kColumn = "tensor<40xf32>",
                              *kPlane = "tensor<37x40xf32>", *kScalar = "tensor<f32>", *kFlat = "tensor<111x40xf32>";

  unsigned pick(unsigned count) { return random() % count; }

  /// A recent value; of `type` if given.
  Named any(const std::string &type = "") {
    std::vector<Named> fitting;
    for (const Named &value : values)
      if (type.empty() || value.type == type)
        fitting.push_back(value);
    size_t window = std::min<size_t>(fitting.size(), 8);
    return fitting[fitting.size() - 1 - pick(window)];
  }

  void emit(const std::string &text, const std::string &type) {
    std::string name = "%v" + std::to_string(values.size());
    body += name + " = " + text + "\n";
    values.push_back({name, type});
  }

  void step() {
    switch (pick(8)) {
    case 0:
    case 1: {
      static const char *kinds[] = {"tanh", "sigmoid", "neg", "silu", "gelu", "abs", "erf", "relu"};
      Named x = any();
      return emit(std::string("graph.unary ") + kinds[pick(8)] + " " + x.name + " : " + x.type, x.type);
    }
    case 2:
    case 3:
    case 4: {
      static const char *kinds[] = {"add", "sub", "mul", "max", "min"};
      Named x = any(), y = any(x.type);
      return emit(std::string("graph.binary ") + kinds[pick(5)] + " " + x.name + ", " + y.name + " : " + x.type,
                  x.type);
    }
    case 5: return broadcast();
    case 6: return reduce();
    default: return barrier();
    }
  }

  void broadcast() {
    static const std::pair<const char *, const char *> forms[] = {{kRow, "0, 1"}, {kColumn, "2"}, {kPlane, "1, 2"}};
    auto [type, dims] = forms[pick(3)];
    Named x = any(type);
    emit("graph.broadcast " + x.name + " {dims = array<i64: " + dims + ">} : (" + x.type + ") -> " + kFull, kFull);
  }

  void reduce() {
    struct Form {
      const char *from, *dims, *to;
    };
    static const Form forms[] = {{kFull, "2", kRow},          {kFull, "0, 1", kColumn}, {kFull, "0", kPlane},
                                 {kFull, "0, 1, 2", kScalar}, {kRow, "0, 1", kScalar},  {kPlane, "0", kColumn}};
    const Form &form = forms[pick(6)];
    Named x = any(form.from);
    const char *kind = pick(4) == 0 ? "max " : pick(2) ? "mean " : "sum ";
    emit(std::string("graph.reduce ") + kind + x.name + " over [" + form.dims + "] : (" + form.from + ") -> " + form.to,
         form.to);
    // Sums grow: the next ops see moderate values.
    emit("graph.unary tanh " + values.back().name + " : " + form.to, form.to);
  }

  /// A reshape and back: no group reaches across.
  void barrier() {
    Named x = any(kFull);
    emit("graph.reshape " + x.name + " : (" + kFull + ") -> " + kFlat, kFlat);
    emit("graph.reshape " + values.back().name + " : (" + kFlat + ") -> " + kFull, kFull);
  }

  std::mt19937 random;
  std::vector<Named> values;
  std::string body;
};

class RandomGraph : public testing::TestWithParam<unsigned> {};

TEST_P(RandomGraph, IsRight) {
  std::string text = Generator(GetParam()).run(12 + int(GetParam() % 40));
  SCOPED_TRACE(text);
  ProgramOptions options;
  options.workers = 1 + int(GetParam() % 3);
  FusedProgram program(text, options);
  std::mt19937_64 random(GetParam());
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> arguments;
  for (auto argument : program.source().getArguments()) {
    arguments.emplace_back();
    for (int64_t i = 0; i < mlir::cast<mlir::RankedTensorType>(argument.getType()).getNumElements(); ++i)
      arguments.back().push_back(double(float(normal(random))));
  }
  std::vector<Bounded> exact = evaluate(program.source(), arguments);
  std::vector<std::vector<double>> got = program.run(arguments);
  ASSERT_EQ(got.size(), exact.size());
  for (size_t r = 0; r < got.size(); ++r)
    for (size_t i = 0; i < got[r].size(); ++i)
      ASSERT_LE(std::fabs(got[r][i] - exact[r].values[i]), 2 * exact[r].errors[i] + 1e-30)
          << "result " << r << " element " << i << " is " << got[r][i] << ", should be " << exact[r].values[i];
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraph, testing::Range(0u, 80u));

} // namespace
} // namespace echelon::test
