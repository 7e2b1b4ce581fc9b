// SPDX-License-Identifier: Apache-2.0
//
// The training spec (train.json): loss, optimizer, parameters, precision,
// symbols, batch, dropout and seed as one plain struct in which every value
// remembers where it came from. Reading is strict: an unknown key names the
// nearest known one, all errors of a file are reported together.
// docs/reference/train.md describes every key.
#ifndef ECHELON_COMPILER_SPEC_TRAINING_SPEC_H
#define ECHELON_COMPILER_SPEC_TRAINING_SPEC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace echelon {

struct LossSpec {
  enum class Kind { CrossEntropy, Mse, L1, BceWithLogits };
  Kind kind = Kind::CrossEntropy;
  std::string logits; ///< graph output; empty: the only floating-point output
  std::string labels = "labels"; ///< graph input, made if the graph lacks it
  std::string
      fromOutput; ///< graph output that is the loss; empty: none, `kind` holds
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0; ///< in [0, 1)
  bool shiftLabels =
      false; ///< logits at position i are scored by labels at i + 1
};

struct ScheduleSpec {
  enum class Kind { Constant, Linear, Cosine };
  Kind kind = Kind::Constant;
  int64_t warmupSteps = 0;
  int64_t totalSteps = 0; ///< 0: not given
  double minLr = 0;
};

struct OptimizerSpec {
  enum class Kind { AdamW, Adam, Sgd, Momentum };
  Kind kind = Kind::AdamW;
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weightDecay = 0.01;
  double momentum = 0.9;
  std::vector<std::string> noDecay; ///< globs, @1d, @norm, @bias, @embedding
  double gradClipNorm = 0;          ///< 0: no clipping
  ScheduleSpec schedule;
};

/// First values of the trainable parameters of rank 2 and above.
struct InitSpec {
  enum class Kind { Model, Normal, Uniform, Xavier, Zeros, Ones };
  Kind kind = Kind::Model;
  double std = 0.02; ///< standard deviation of normal and uniform
};

struct ParametersSpec {
  std::vector<std::string> trainable = {"*"}; ///< globs
  std::vector<std::string> frozen;            ///< globs; win over trainable
  std::vector<std::vector<std::string>>
      tie; ///< groups of names that are one parameter
  std::vector<std::string>
      split; ///< initializers whose uses are separate parameters
  InitSpec init;
};

struct PrecisionSpec {
  enum class Compute { F32, Bf16 };
  Compute compute = Compute::F32;
};

struct BatchSpec {
  int64_t micro = 0; ///< rows of a microbatch; 0: not given
  int64_t accumulate = 1;
};

/// Where a resolved value came from.
struct Origin {
  enum class Kind { Default, File, Flag };
  Kind kind = Kind::Default;
  std::string place; ///< File: "train.json:3:4"; Flag: the assignment's text
};

struct TrainingSpec {
  enum class Dropout { Honour, Off };

  LossSpec loss;
  OptimizerSpec optimizer;
  ParametersSpec parameters;
  PrecisionSpec precision;
  std::map<std::string, int64_t> symbols;
  BatchSpec batch;
  Dropout dropout = Dropout::Honour;
  int64_t seed = 0;

  /// By key path ("optimizer.lr", "symbols.seq"); a path that is absent holds
  /// its default.
  std::map<std::string, Origin> origins;

  /// Whether the file or a flag gave this key.
  bool isGiven(llvm::StringRef path) const {
    return origins.count(path.str()) != 0;
  }
};

/// One key of the spec as documentation and schema see it.
struct SpecKey {
  std::string path; ///< "optimizer.schedule.kind"; "symbols.*" is the map
  std::string type; ///< integer, number, string, boolean, choice, globs,
                    ///< names, numbers, groups, integers
  std::vector<std::string> choices; ///< of a choice
  std::string defaultJson;          ///< the default as JSON text
};

/// Every key in the order of printConfig.
std::vector<SpecKey> trainingSpecKeys();

/// Reads a spec. Types, ranges, globs and words are checked; what depends on
/// several keys is left to checkConsistent, because flags may still override.
/// The error holds one line for each fault: `train.json:4:5: optimizer.beta is
/// not a known key, did you mean 'betas'?`.
llvm::Expected<TrainingSpec> parseTrainingSpec(llvm::StringRef json,
                                               llvm::StringRef fileName);

/// Applies one `path=value` of `--set`. The value is JSON where it parses as
/// such, else a plain string: `optimizer.lr=3e-4`, `optimizer.kind=adamw`,
/// `parameters.frozen=["*.wte.*"]`, `symbols.seq=64`. On error the spec is
/// unchanged.
llvm::Error applyOverride(TrainingSpec &spec, llvm::StringRef assignment);

/// What no single key can show: keys that exclude each other, keys without
/// effect under the chosen kind, a schedule without its length.
llvm::Error checkConsistent(const TrainingSpec &spec);

/// checkConsistent, then refuses by name every key whose value the compiler
/// does not execute yet.
llvm::Error checkExecutable(const TrainingSpec &spec);

/// Reads the file, applies the overrides in order and checks the result with
/// checkExecutable. An empty path stands for an empty spec.
llvm::Expected<TrainingSpec>
loadTrainingSpec(llvm::StringRef path, llvm::ArrayRef<std::string> overrides);

/// One line a key: path, value as JSON, origin (`default`,
/// `file train.json:3:4`, `flag --set optimizer.lr=3e-4`), in aligned columns.
std::string printConfig(const TrainingSpec &spec);

/// The words of the enums as the file spells them.
llvm::StringRef spelling(LossSpec::Kind kind);
llvm::StringRef spelling(OptimizerSpec::Kind kind);
llvm::StringRef spelling(ScheduleSpec::Kind kind);
llvm::StringRef spelling(InitSpec::Kind kind);
llvm::StringRef spelling(PrecisionSpec::Compute compute);
llvm::StringRef spelling(TrainingSpec::Dropout dropout);

} // namespace echelon

#endif
