// SPDX-License-Identifier: Apache-2.0
//
// `echelon-import-check [--ir] [--quiet] [--compare] [--micro N] [--symbol
// NAME=SIZE]...
// [--input NAME=4x12]... MODEL...`:
// imports models and prints the report, a count of the ops and, with --ir, the
// module. Exit code 1 if any model does not import.
#include "compiler/onnx/importer.h"
#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "test/compiler/onnx/golden_data.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace llvm;

static cl::list<std::string> models(cl::Positional, cl::OneOrMore,
                                    cl::desc("MODEL..."));
static cl::opt<bool> printIr("ir", cl::desc("print the module"));
static cl::opt<bool> quiet("quiet", cl::desc("one line a model"));
static cl::opt<bool> compare("compare",
                             cl::desc("with the golden files of its folder"));
static cl::opt<int64_t> micro("micro", cl::init(0), cl::desc("batch.micro"));
static cl::list<std::string> symbols("symbol", cl::desc("NAME=SIZE"));
static cl::list<std::string> inputs("input", cl::desc("NAME=4x12"));

static bool check(StringRef path, const echelon::ImportOptions &options) {
  mlir::MLIRContext context;
  echelon::ImportReport report;
  auto module = echelon::importModel(path, options, context, report);
  if (!module) {
    outs() << path << ": error: " << toString(module.takeError()) << "\n";
    return false;
  }
  std::map<std::string, int> ops;
  (*module)->walk(
      [&](mlir::Operation *op) { ++ops[op->getName().getStringRef().str()]; });
  int parameters = 0, trainable = 0;
  for (auto variable :
       (*module)->getBody()->getOps<echelon::graph::VariableOp>()) {
    ++parameters;
    trainable += variable.getTrainable();
  }
  outs() << path << ": " << parameters << " parameters, " << trainable
         << " trainable\n";
  if (compare) {
    auto difference = echelon::test::compareWithGolden(
        **module, sys::path::parent_path(path));
    if (!difference) {
      outs() << "  " << toString(difference.takeError()) << "\n";
      return false;
    }
    // f32 PyTorch against f64: 1e-5 of values of size 1 (measured: below 1e-6).
    bool near = difference->largest <= 1e-5 * std::max(1.0, difference->golden);
    outs() << "  " << difference->output << " differs by "
           << format("%.2e", difference->largest) << " of "
           << format("%.3g", difference->golden) << (near ? "" : ": TOO FAR")
           << "\n";
    if (!near)
      return false;
  }
  if (!quiet) {
    outs() << report.text() << "ops:\n";
    for (auto &[name, count] : ops)
      outs() << "  " << name << " " << count << "\n";
  }
  if (printIr)
    (*module)->print(outs());
  return true;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "imports ONNX models\n");
  echelon::ImportOptions options;
  if (micro)
    options.micro = micro;
  for (const std::string &symbol : symbols) {
    auto [name, size] = StringRef(symbol).split('=');
    int64_t value;
    if (size.getAsInteger(10, value)) {
      errs() << "--symbol needs NAME=SIZE, but has '" << symbol << "'\n";
      return 2;
    }
    options.symbols[name.str()] = value;
  }
  for (const std::string &input : inputs) {
    auto [name, text] = StringRef(input).split('=');
    SmallVector<StringRef> sizes;
    text.split(sizes, 'x');
    for (StringRef size : sizes) {
      int64_t value;
      if (size.getAsInteger(10, value)) {
        errs() << "--input needs NAME=4x12, but has '" << input << "'\n";
        return 2;
      }
      options.inputShapes[name.str()].push_back(value);
    }
  }
  bool good = true;
  for (const std::string &model : models)
    good &= check(model, options);
  return good ? 0 : 1;
}
