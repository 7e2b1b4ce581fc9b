// SPDX-License-Identifier: Apache-2.0
//
// Tables of ops and memory.
#include "compiler/report/report.h"

#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

using namespace mlir;

namespace echelon {

namespace {

struct OpRow {
  int64_t count = 0;
  double flops = 0;
};

constexpr const char *kClassNames[] = {"weights", "gradients",   "optimizer",    "metrics",
                                       "inputs",  "activations", "communication"};

std::string mebibytes(int64_t bytes) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3f MiB", double(bytes) / double(1 << 20));
  return text;
}

} // namespace

std::string describeParameters(ModuleOp module) {
  int64_t elements = 0, trained = 0, tensors = 0;
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (variable.getVariableClass() != graph::VariableClass::Parameter)
      continue;
    int64_t size = cast<RankedTensorType>(variable.getType()).getNumElements();
    elements += size;
    trained += variable.getTrainable() ? size : 0;
    ++tensors;
  }
  return llvm::formatv("{0} parameters in {1} tensors, {2} trained\n", elements, tensors, trained).str();
}

std::string describeOps(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (auto function : module.getOps<func::FuncOp>()) {
    std::map<std::string, OpRow> rows;
    double total = 0;
    for (Operation &op : function.getBody().front().without_terminator()) {
      OpRow &row = rows[op.getName().getStringRef().str()];
      ++row.count;
      if (auto counted = dyn_cast<graph::IterationSpaceOpInterface>(op))
        row.flops += double(counted.getFlops());
    }
    for (const auto &[name, row] : rows)
      total += row.flops;
    out << "@" << function.getSymName() << llvm::format(": %.4g GFLOP\n", total * 1e-9);
    for (const auto &[name, row] : rows)
      out << llvm::format("  %-32s %6lld", name.c_str(), (long long)row.count)
          << llvm::format("  %12.4g GFLOP\n", row.flops * 1e-9);
  }
  return text;
}

/// Bytes alive at each launch of an entry, from first and last use of each buffer.
static std::vector<std::pair<std::string, int64_t>> bytesOverTime(exec::EntryOp entry) {
  std::vector<std::pair<std::string, int64_t>> launches;
  llvm::MapVector<Value, std::pair<size_t, size_t>> lives;
  for (auto launch : entry.getOps<exec::LaunchOp>()) {
    for (Value buffer : launch.getBuffers())
      if (buffer.getDefiningOp<exec::AllocOp>()) {
        auto [life, isNew] = lives.insert({buffer, {launches.size(), launches.size()}});
        life->second.second = launches.size();
      }
    launches.emplace_back(launch.getCallee().str(), 0);
  }
  for (auto &[buffer, life] : lives)
    for (size_t time = life.first; time <= life.second; ++time)
      launches[time].second += buffer.getDefiningOp<exec::AllocOp>().getBytes();
  return launches;
}

std::string describeMemory(ModuleOp module, bool overTime) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto arenas = module->getAttrOfType<DenseI64ArrayAttr>("exec.arenas");
  auto packing = module->getAttrOfType<DictionaryAttr>("exec.packing");
  if (!arenas || !packing)
    return "memory: buffers are not placed\n";
  int64_t total = 0;
  out << "memory by class\n";
  for (auto [name, bytes] : llvm::zip(ArrayRef<const char *>(kClassNames), arenas.asArrayRef())) {
    out << llvm::format("  %-14s %16lld bytes  ", name, (long long)bytes) << mebibytes(bytes) << "\n";
    total += bytes;
  }
  out << llvm::format("  %-14s %16lld bytes  ", (const char *)"total", (long long)total) << mebibytes(total) << "\n";
  int64_t peak = cast<IntegerAttr>(packing.get("peak")).getInt();
  int64_t bound = cast<IntegerAttr>(packing.get("lower_bound")).getInt();
  out << llvm::format("activations: packed peak %lld bytes, lower bound %lld bytes, ratio %.4f\n", (long long)peak,
                      (long long)bound, bound ? double(peak) / double(bound) : 1.0);
  if (overTime)
    for (auto entry : module.getOps<exec::EntryOp>())
      if (entry.getSymName() == "microbatch") {
        size_t time = 0;
        for (const auto &[callee, bytes] : bytesOverTime(entry))
          out << llvm::format("  %5zu %16lld bytes  ", time++, (long long)bytes) << callee << "\n";
      }
  return text;
}

} // namespace echelon
