// SPDX-License-Identifier: Apache-2.0
//
// The phases and their passes, top to bottom.
#include "compiler/pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/fusion/passes.h"
#include "passes/lowering/passes.h"
#include "passes/planning/passes.h"
#include "passes/training/passes.h"

using namespace mlir;

namespace echelon {

static training::AttachLossPassOptions lossOptions(const TrainingSpec &spec) {
  training::AttachLossPassOptions options;
  options.fromOutput = spec.loss.fromOutput;
  options.logits = spec.loss.logits.empty() ? "logits" : spec.loss.logits;
  options.labels = spec.loss.labels;
  options.ignoreIndex = spec.loss.ignoreIndex;
  options.labelSmoothing = spec.loss.labelSmoothing;
  options.shiftLabels = spec.loss.shiftLabels;
  return options;
}

static training::AttachOptimizerPassOptions optimizerOptions(const TrainingSpec &spec) {
  training::AttachOptimizerPassOptions options;
  const OptimizerSpec &optimizer = spec.optimizer;
  options.lr = optimizer.lr;
  options.beta1 = optimizer.betas[0];
  options.beta2 = optimizer.betas[1];
  options.epsilon = optimizer.eps;
  options.weightDecay = optimizer.weightDecay;
  options.clipNorm = optimizer.gradClipNorm;
  options.schedule = spelling(optimizer.schedule.kind).str();
  options.warmupSteps = optimizer.schedule.warmupSteps;
  options.totalSteps = optimizer.schedule.totalSteps;
  options.minLr = optimizer.schedule.minLr;
  options.noDecay = optimizer.noDecay;
  return options;
}

static void addTraining(PassManager &passes, const CompileOptions &options) {
  passes.addPass(training::createCanonicalizeGraphPass());
  passes.addPass(createCSEPass());
  passes.addPass(training::createCanonicalizeGraphPass());
  passes.addPass(training::createRaiseAttentionPass());
  passes.addPass(training::createCanonicalizeGraphPass());
  passes.addPass(training::createRebatchPass({options.spec.batch.micro}));
  passes.addPass(training::createAttachLossPass(lossOptions(options.spec)));
  passes.addPass(training::createDifferentiatePass());
  passes.addPass(training::createAttachOptimizerPass(optimizerOptions(options.spec)));
  passes.addPass(training::createCanonicalizeGraphPass());
  passes.addPass(createCSEPass());
}

static void addPlanning(PassManager &passes, const CompileOptions &options) {
  planning::PlanParallelismPassOptions plan;
  plan.accumulate = options.spec.batch.accumulate;
  passes.addPass(planning::createPlanParallelismPass(plan));
}

static void addFusion(PassManager &passes) { passes.addNestedPass<func::FuncOp>(fusion::createFuseElementwisePass()); }

void addBufferPasses(PassManager &passes, const CompileOptions &options) {
  passes.addPass(lowering::createScheduleMicrobatchesPass({options.spec.batch.accumulate}));
  passes.addPass(lowering::createLowerGraphToExecPass());
  passes.addPass(lowering::createAssignBuffersPass());
}

static void addLowering(PassManager &passes, const CompileOptions &options) {
  addBufferPasses(passes, options);
  passes.addPass(lowering::createGenerateKernelsPass());
  passes.addPass(lowering::createLowerExecToLLVMPass({options.checkNumerics}));
}

void addPhase(PassManager &passes, Phase phase, const CompileOptions &options) {
  switch (phase) {
  case Phase::Import: return;
  case Phase::Training: return addTraining(passes, options);
  case Phase::Planning: return addPlanning(passes, options);
  case Phase::Distribution: return; // one device: nothing to cut
  case Phase::Fusion: return addFusion(passes);
  case Phase::Lowering: return addLowering(passes, options);
  }
}

} // namespace echelon
