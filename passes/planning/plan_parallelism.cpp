// SPDX-License-Identifier: Apache-2.0
//
// The plan of one rank. The JSON is written by hand-ordered keys so that equal plans are equal bytes.
#include "passes/planning/passes.h"

#include "dialects/graph/graph_dialect.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace echelon::planning {
#define GEN_PASS_DEF_PLANPARALLELISMPASS
#include "passes/planning/passes.h.inc"

namespace {

struct PlanParallelismPass : impl::PlanParallelismPassBase<PlanParallelismPass> {
  using PlanParallelismPassBase::PlanParallelismPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto batch = module->getAttrOfType<IntegerAttr>("graph.batch");
    int64_t rows = micro > 0 ? int64_t(micro) : batch ? batch.getInt() : 0;
    if (rows < 1) {
      module.emitError() << "the rows of a microbatch are not known (graph.batch is missing)";
      return signalPassFailure();
    }
    std::string plan;
    llvm::raw_string_ostream stream(plan);
    llvm::json::OStream json(stream);
    json.object([&] {
      json.attribute("schema", "echelon.plan/1");
      json.attribute("world", 1);
      json.attributeArray("mesh", [] {});
      json.attributeObject("batch", [&] {
        json.attribute("micro", rows);
        json.attribute("accumulate", int64_t(accumulate));
      });
      json.attributeArray("stages", [&] { json.value("all"); });
      json.attributeObject("sharding", [&] {
        for (auto variable : module.getOps<graph::VariableOp>())
          if (variable.getVariableClass() == graph::VariableClass::Parameter)
            json.attributeArray(variable.getSymName(), [&] {
              for (int64_t i = 0, rank = cast<RankedTensorType>(variable.getType()).getRank(); i < rank; ++i)
                json.array([] {});
            });
      });
    });
    Builder builder(&getContext());
    std::string hash;
    llvm::raw_string_ostream(hash) << llvm::format_hex_no_prefix(llvm::xxHash64(plan), 16);
    module->setAttr("dist.plan", builder.getStringAttr(plan));
    module->setAttr("dist.plan_hash", builder.getStringAttr(hash));
  }
};

} // namespace
} // namespace echelon::planning
