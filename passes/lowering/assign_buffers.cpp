// SPDX-License-Identifier: Apache-2.0
//
// Every byte of a rank gets its place. Activations: each buffer lives from the first launch that touches it to the
// last; the largest is placed first, each at the lowest offset where no buffer that lives at the same time is.
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"
#include "passes/lowering/passes.h"
#include "runtime/abi/abi.h"

using namespace mlir;
using namespace llvm;

namespace echelon::lowering {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "passes/lowering/passes.h.inc"

namespace {

int64_t aligned(int64_t bytes) { return int64_t(llvm::alignTo(uint64_t(bytes), ECH_ALIGNMENT)); }

int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * std::max<int64_t>(1, tensor.getElementTypeBitWidth() / 8);
}

struct Life {
  exec::AllocOp alloc;
  int64_t bytes;
  int64_t first, last; ///< launches, inclusive
  int64_t offset = -1;
};

struct Packing {
  int64_t peak = 0;       ///< bytes of the arena
  int64_t lowerBound = 0; ///< most bytes alive at one launch
};

SmallVector<Life> livesOf(exec::EntryOp entry) {
  SmallVector<Life> lives;
  llvm::DenseMap<Value, unsigned> index;
  int64_t time = 0;
  for (Operation &op : entry.getBody().front()) {
    auto launch = dyn_cast<exec::LaunchOp>(op);
    if (!launch)
      continue;
    for (Value buffer : launch.getBuffers()) {
      auto alloc = buffer.getDefiningOp<exec::AllocOp>();
      if (!alloc)
        continue;
      auto [found, isNew] = index.try_emplace(buffer, lives.size());
      if (isNew)
        lives.push_back({alloc, aligned(std::max<int64_t>(1, alloc.getBytes())), time, time});
      lives[found->second].last = time;
    }
    ++time;
  }
  return lives;
}

Packing pack(MutableArrayRef<Life> lives) {
  Packing packing;
  int64_t end = 0;
  for (const Life &life : lives)
    end = std::max(end, life.last + 1);
  SmallVector<int64_t> alive(end + 1, 0);
  for (const Life &life : lives) {
    alive[life.first] += life.bytes;
    alive[life.last + 1] -= life.bytes;
  }
  int64_t now = 0;
  for (int64_t change : alive)
    packing.lowerBound = std::max(packing.lowerBound, now += change);

  SmallVector<unsigned> bySize(lives.size());
  for (unsigned i = 0; i < bySize.size(); ++i)
    bySize[i] = i;
  llvm::sort(bySize, [&](unsigned a, unsigned b) {
    return lives[a].bytes != lives[b].bytes ? lives[a].bytes > lives[b].bytes : a < b;
  });
  SmallVector<unsigned> placed; // by offset
  for (unsigned index : bySize) {
    Life &life = lives[index];
    int64_t offset = 0;
    for (unsigned other : placed) {
      const Life &taken = lives[other];
      if (taken.last < life.first || life.last < taken.first)
        continue;
      if (offset + life.bytes <= taken.offset)
        break;
      offset = std::max(offset, taken.offset + taken.bytes);
    }
    life.offset = offset;
    packing.peak = std::max(packing.peak, offset + life.bytes);
    placed.insert(llvm::upper_bound(placed, index,
                                    [&](unsigned a, unsigned b) { return lives[a].offset < lives[b].offset; }),
                  index);
  }
  return packing;
}

struct AssignBuffersPass : impl::AssignBuffersPassBase<AssignBuffersPass> {
  using AssignBuffersPassBase::AssignBuffersPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder builder(&getContext());
    SmallVector<int64_t> arenas(ECH_ARENA_COUNT, 0);
    for (auto variable : module.getOps<graph::VariableOp>()) {
      int64_t &arena = arenas[unsigned(variable.getVariableClass())];
      variable->setAttr("exec.offset", builder.getI64IntegerAttr(arena));
      arena += aligned(bytesOf(variable.getType()));
    }
    arenas[ECH_ARENA_INPUTS] = placeInputs(module, builder);
    if (failed(checkReferences(module)))
      return signalPassFailure();
    Packing total;
    for (auto entry : module.getOps<exec::EntryOp>()) {
      SmallVector<Life> lives = livesOf(entry);
      Packing packing = pack(lives);
      for (Life &life : lives)
        life.alloc.setOffsetAttr(builder.getI64IntegerAttr(life.offset));
      if (entry.getSymName() == "evaluate")
        noteLogits(module, lives);
      total.peak = std::max(total.peak, packing.peak);
      total.lowerBound = std::max(total.lowerBound, packing.lowerBound);
    }
    arenas[ECH_ARENA_ACTIVATIONS] = total.peak;
    module->setAttr("exec.arenas", builder.getDenseI64ArrayAttr(arenas));
    module->setAttr("exec.packing",
                    builder.getDictionaryAttr(
                        {builder.getNamedAttr("lower_bound", builder.getI64IntegerAttr(total.lowerBound)),
                         builder.getNamedAttr("peak", builder.getI64IntegerAttr(total.peak))}));
    if (report)
      llvm::errs() << "activations: packed peak " << total.peak << " bytes, lower bound " << total.lowerBound
                   << ", ratio " << llvm::format("%.3f", double(total.peak) / std::max<int64_t>(1, total.lowerBound))
                   << "\n";
  }

  /// Whatever an entry names must have got a place.
  LogicalResult checkReferences(ModuleOp module) {
    auto inputs = module->getAttrOfType<ArrayAttr>("exec.inputs");
    int64_t count = inputs ? inputs.size() : 0;
    for (auto entry : module.getOps<exec::EntryOp>())
      for (Operation &op : entry.getBody().front()) {
        auto input = dyn_cast<exec::InputOp>(op);
        if (input && (int64_t(input.getIndex()) < 0 || int64_t(input.getIndex()) >= count))
          return input.emitError() << "input " << input.getIndex() << " is not one of the " << count
                                   << " of exec.inputs";
        auto variable = dyn_cast<exec::VariableOp>(op);
        if (variable && !module.lookupSymbol<graph::VariableOp>(variable.getVariable()))
          return variable.emitError() << "names the unknown variable '" << variable.getVariable() << "'";
      }
    return success();
  }

  /// The loss reads the logits last, so they still lie there when the entry ends.
  void noteLogits(ModuleOp module, MutableArrayRef<Life> lives) {
    Builder builder(&getContext());
    for (Life &life : lives)
      if (auto shape = life.alloc->getAttrOfType<DenseI64ArrayAttr>("logits"))
        module->setAttr("exec.logits",
                        builder.getDictionaryAttr({builder.getNamedAttr("classes", builder.getI64IntegerAttr(shape[1])),
                                                   builder.getNamedAttr("offset", builder.getI64IntegerAttr(life.offset)),
                                                   builder.getNamedAttr("rows", builder.getI64IntegerAttr(shape[0]))}));
  }

  int64_t placeInputs(ModuleOp module, Builder &builder) {
    auto inputs = module->getAttrOfType<ArrayAttr>("exec.inputs");
    if (!inputs)
      return 0;
    int64_t end = 0;
    SmallVector<Attribute> placed;
    for (auto input : inputs.getAsRange<DictionaryAttr>()) {
      NamedAttrList fields(input);
      fields.set("offset", builder.getI64IntegerAttr(end));
      end += aligned(bytesOf(cast<TypeAttr>(input.get("type")).getValue()));
      placed.push_back(fields.getDictionary(&getContext()));
    }
    module->setAttr("exec.inputs", builder.getArrayAttr(placed));
    return end;
  }
};

} // namespace
} // namespace echelon::lowering
