// SPDX-License-Identifier: Apache-2.0
//
// The one list of the spec's keys: path, field, and what a value may be. The
// reader, the printer and the documentation table are visitors over it, so that
// a key cannot exist in one and lack in another.
#ifndef ECHELON_COMPILER_SPEC_TRAINING_SPEC_KEYS_H
#define ECHELON_COMPILER_SPEC_TRAINING_SPEC_KEYS_H

#include "compiler/spec/training_spec.h"
#include "llvm/ADT/ArrayRef.h"
#include <limits>

namespace echelon::spec_keys {

/// A closed or half-open interval; messages print it in that notation.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool lowOpen = false;
  bool highOpen = false;

  bool contains(double value) const {
    return (lowOpen ? value > low : value >= low) &&
           (highOpen ? value < high : value <= high);
  }
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kMaxInteger = 9007199254740992.0; // 2^53

inline constexpr Range nonNegative() { return {0, kInfinity, false, true}; }
inline constexpr Range positive() { return {0, kInfinity, true, true}; }
inline constexpr Range unitHalfOpen() { return {0, 1, false, true}; }
inline constexpr Range count() { return {0, kMaxInteger, false, false}; }
inline constexpr Range positiveCount() { return {1, 2147483647, false, false}; }

/// A key where `null` means "not given", stored as 0 or an empty string.
enum class Nullable { No, Yes };

template <class Enum> struct Word {
  llvm::StringLiteral text;
  Enum value;
};

inline constexpr Word<LossSpec::Kind> kLossKinds[] = {
    {"cross_entropy", LossSpec::Kind::CrossEntropy},
    {"mse", LossSpec::Kind::Mse},
    {"l1", LossSpec::Kind::L1},
    {"bce_with_logits", LossSpec::Kind::BceWithLogits}};
inline constexpr Word<OptimizerSpec::Kind> kOptimizerKinds[] = {
    {"adamw", OptimizerSpec::Kind::AdamW},
    {"adam", OptimizerSpec::Kind::Adam},
    {"sgd", OptimizerSpec::Kind::Sgd},
    {"momentum", OptimizerSpec::Kind::Momentum}};
inline constexpr Word<ScheduleSpec::Kind> kScheduleKinds[] = {
    {"constant", ScheduleSpec::Kind::Constant},
    {"linear", ScheduleSpec::Kind::Linear},
    {"cosine", ScheduleSpec::Kind::Cosine}};
inline constexpr Word<InitSpec::Kind> kInitKinds[] = {
    {"model", InitSpec::Kind::Model},     {"normal", InitSpec::Kind::Normal},
    {"uniform", InitSpec::Kind::Uniform}, {"xavier", InitSpec::Kind::Xavier},
    {"zeros", InitSpec::Kind::Zeros},     {"ones", InitSpec::Kind::Ones}};
inline constexpr Word<PrecisionSpec::Compute> kComputeTypes[] = {
    {"f32", PrecisionSpec::Compute::F32},
    {"bf16", PrecisionSpec::Compute::Bf16}};
inline constexpr Word<TrainingSpec::Dropout> kDropoutModes[] = {
    {"honour", TrainingSpec::Dropout::Honour},
    {"off", TrainingSpec::Dropout::Off}};

/// Whether `@1d` and its like may stand among the globs.
enum class Roles { No, Yes };

/// Calls one method of `visit` for each key, in documentation order. `Spec` is
/// TrainingSpec or const TrainingSpec.
template <class Spec, class Visitor> void visitKeys(Spec &s, Visitor &&visit) {
  auto &loss = s.loss;
  visit.choice("loss.kind", loss.kind, kLossKinds);
  visit.text("loss.logits", loss.logits, Nullable::Yes);
  visit.text("loss.labels", loss.labels, Nullable::No);
  visit.text("loss.from_output", loss.fromOutput, Nullable::Yes);
  visit.integer("loss.ignore_index", loss.ignoreIndex,
                Range{-2147483648.0, 2147483647.0}, Nullable::No);
  visit.number("loss.label_smoothing", loss.labelSmoothing, unitHalfOpen(),
               Nullable::No);
  visit.boolean("loss.shift_labels", loss.shiftLabels);

  auto &optimizer = s.optimizer;
  visit.choice("optimizer.kind", optimizer.kind, kOptimizerKinds);
  visit.number("optimizer.lr", optimizer.lr, nonNegative(), Nullable::No);
  visit.numbers("optimizer.betas", optimizer.betas, unitHalfOpen());
  visit.number("optimizer.eps", optimizer.eps, positive(), Nullable::No);
  visit.number("optimizer.weight_decay", optimizer.weightDecay, nonNegative(),
               Nullable::No);
  visit.number("optimizer.momentum", optimizer.momentum, unitHalfOpen(),
               Nullable::No);
  visit.globs("optimizer.no_decay", optimizer.noDecay, Roles::Yes);
  visit.number("optimizer.grad_clip_norm", optimizer.gradClipNorm, positive(),
               Nullable::Yes);
  auto &schedule = optimizer.schedule;
  visit.choice("optimizer.schedule.kind", schedule.kind, kScheduleKinds);
  visit.integer("optimizer.schedule.warmup_steps", schedule.warmupSteps,
                count(), Nullable::No);
  visit.integer("optimizer.schedule.total_steps", schedule.totalSteps,
                Range{1, kMaxInteger}, Nullable::Yes);
  visit.number("optimizer.schedule.min_lr", schedule.minLr, nonNegative(),
               Nullable::No);

  auto &parameters = s.parameters;
  visit.globs("parameters.trainable", parameters.trainable, Roles::No);
  visit.globs("parameters.frozen", parameters.frozen, Roles::No);
  visit.groups("parameters.tie", parameters.tie);
  visit.names("parameters.split", parameters.split);
  visit.choice("parameters.init.kind", parameters.init.kind, kInitKinds);
  visit.number("parameters.init.std", parameters.init.std, positive(),
               Nullable::No);

  visit.choice("precision.compute", s.precision.compute, kComputeTypes);
  visit.sizes("symbols", s.symbols);
  visit.integer("batch.micro", s.batch.micro, positiveCount(), Nullable::Yes);
  visit.integer("batch.accumulate", s.batch.accumulate, positiveCount(),
                Nullable::No);
  visit.choice("dropout", s.dropout, kDropoutModes);
  visit.integer("seed", s.seed, count(), Nullable::No);
}

/// The file's word for an enum value.
template <class Enum>
llvm::StringRef wordOf(Enum value, llvm::ArrayRef<Word<Enum>> words) {
  for (const Word<Enum> &word : words)
    if (word.value == value)
      return word.text;
  return "";
}

} // namespace echelon::spec_keys

#endif
