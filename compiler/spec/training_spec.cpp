// SPDX-License-Identifier: Apache-2.0
//
// What the spec says about itself (key table, print-out, words), the checks
// over several keys, and loading a file with its overrides.
#include "compiler/spec/training_spec.h"
#include "compiler/spec/json_tree.h"
#include "compiler/spec/training_spec_keys.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <nlohmann/json.hpp>

namespace echelon {

using namespace spec_keys;

namespace {

std::string quote(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string list(const std::vector<std::string> &texts) {
  std::string result = "[";
  for (size_t i = 0; i < texts.size(); ++i)
    result += (i ? ", " : "") + quote(texts[i]);
  return result + "]";
}

/// Gathers (path, type, choices, value as JSON) of a spec.
class Lister {
public:
  std::vector<SpecKey> keys;

  template <class Enum, size_t N>
  void choice(const char *path, Enum value, const Word<Enum> (&words)[N]) {
    keys.push_back(
        {path, "choice", {}, quote(wordOf<Enum>(value, words).str())});
    for (const Word<Enum> &word : words)
      keys.back().choices.push_back(word.text.str());
  }
  void text(const char *path, const std::string &value, Nullable) {
    keys.push_back({path, "string", {}, value.empty() ? "null" : quote(value)});
  }
  void boolean(const char *path, bool value) {
    keys.push_back({path, "boolean", {}, value ? "true" : "false"});
  }
  void integer(const char *path, int64_t value, Range, Nullable nullable) {
    bool isNull = nullable == Nullable::Yes && value == 0;
    keys.push_back(
        {path, "integer", {}, isNull ? "null" : std::to_string(value)});
  }
  void number(const char *path, double value, Range, Nullable nullable) {
    bool isNull = nullable == Nullable::Yes && value == 0;
    keys.push_back(
        {path, "number", {}, isNull ? "null" : jsonNumberText(value)});
  }
  void numbers(const char *path, const std::array<double, 2> &value, Range) {
    keys.push_back({path,
                    "numbers",
                    {},
                    "[" + jsonNumberText(value[0]) + ", " +
                        jsonNumberText(value[1]) + "]"});
  }
  void globs(const char *path, const std::vector<std::string> &value, Roles) {
    keys.push_back({path, "globs", {}, list(value)});
  }
  void names(const char *path, const std::vector<std::string> &value) {
    keys.push_back({path, "names", {}, list(value)});
  }
  void groups(const char *path,
              const std::vector<std::vector<std::string>> &value) {
    std::string text = "[";
    for (size_t i = 0; i < value.size(); ++i)
      text += (i ? ", " : "") + list(value[i]);
    keys.push_back({path, "groups", {}, text + "]"});
  }
  void sizes(const char *path, const std::map<std::string, int64_t> &value) {
    for (const auto &[name, size] : value)
      keys.push_back({std::string(path) + "." + name,
                      "integers",
                      {},
                      std::to_string(size)});
    if (value.empty())
      keys.push_back({std::string(path) + ".*", "integers", {}, "{}"});
  }
};

std::vector<SpecKey> listKeys(const TrainingSpec &spec) {
  Lister lister;
  visitKeys(spec, lister);
  return std::move(lister.keys);
}

/// Collects faults as `place: message` lines, the place being the key's origin.
class Faults {
public:
  explicit Faults(const TrainingSpec &spec) : spec(spec) {}

  void add(llvm::StringRef path, const llvm::Twine &message) {
    auto origin = spec.origins.find(path.str());
    std::string place =
        origin == spec.origins.end() ? "" : origin->second.place + ": ";
    lines.push_back((place + path + " " + message).str());
  }
  /// Refuses a given key that has no effect.
  void refuseIfGiven(llvm::StringRef path, const llvm::Twine &why) {
    if (spec.isGiven(path))
      add(path, "has no effect " + why + "; remove it");
  }
  llvm::Error take() {
    if (lines.empty())
      return llvm::Error::success();
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   llvm::join(lines, "\n"));
  }

private:
  const TrainingSpec &spec;
  std::vector<std::string> lines;
};

void checkLoss(const TrainingSpec &spec, Faults &faults) {
  const LossSpec &loss = spec.loss;
  if (!loss.fromOutput.empty()) {
    for (const char *path :
         {"loss.kind", "loss.logits", "loss.labels", "loss.ignore_index",
          "loss.label_smoothing", "loss.shift_labels"})
      faults.refuseIfGiven(path, "beside loss.from_output \"" +
                                     loss.fromOutput + "\"");
    return;
  }
  if (loss.kind != LossSpec::Kind::CrossEntropy)
    for (const char *path :
         {"loss.ignore_index", "loss.label_smoothing", "loss.shift_labels"})
      faults.refuseIfGiven(path,
                           "with loss.kind \"" + spelling(loss.kind) + "\"");
}

void checkOptimizer(const TrainingSpec &spec, Faults &faults) {
  const OptimizerSpec &optimizer = spec.optimizer;
  bool isAdam = optimizer.kind == OptimizerSpec::Kind::AdamW ||
                optimizer.kind == OptimizerSpec::Kind::Adam;
  std::string with =
      ("with optimizer.kind \"" + spelling(optimizer.kind) + "\"").str();
  if (!isAdam)
    for (const char *path : {"optimizer.betas", "optimizer.eps"})
      faults.refuseIfGiven(path, with);
  if (optimizer.kind != OptimizerSpec::Kind::Momentum)
    faults.refuseIfGiven("optimizer.momentum", with);

  const ScheduleSpec &schedule = optimizer.schedule;
  if (schedule.kind == ScheduleSpec::Kind::Constant) {
    for (const char *path :
         {"optimizer.schedule.total_steps", "optimizer.schedule.min_lr"})
      faults.refuseIfGiven(path, "with optimizer.schedule.kind \"constant\"");
    return;
  }
  if (schedule.totalSteps == 0)
    faults.add("optimizer.schedule.total_steps",
               "is missing, but optimizer.schedule.kind \"" +
                   spelling(schedule.kind) +
                   "\" needs it; add it to the spec or pass --set "
                   "optimizer.schedule.total_steps=N");
  else if (schedule.warmupSteps >= schedule.totalSteps)
    faults.add("optimizer.schedule.warmup_steps",
               "is " + llvm::Twine(schedule.warmupSteps) +
                   ", but must be below optimizer.schedule.total_steps, which "
                   "is " +
                   llvm::Twine(schedule.totalSteps));
  if (schedule.minLr > optimizer.lr)
    faults.add("optimizer.schedule.min_lr",
               "is " + jsonNumberText(schedule.minLr) +
                   ", but must not exceed optimizer.lr, which is " +
                   jsonNumberText(optimizer.lr));
}

void checkInit(const TrainingSpec &spec, Faults &faults) {
  InitSpec::Kind kind = spec.parameters.init.kind;
  if (kind != InitSpec::Kind::Normal && kind != InitSpec::Kind::Uniform)
    faults.refuseIfGiven("parameters.init.std",
                         "with parameters.init \"" + spelling(kind) + "\"");
}

void addInconsistencies(const TrainingSpec &spec, Faults &faults) {
  checkLoss(spec, faults);
  checkOptimizer(spec, faults);
  checkInit(spec, faults);
}

} // namespace

std::vector<SpecKey> trainingSpecKeys() { return listKeys(TrainingSpec()); }

std::string printConfig(const TrainingSpec &spec) {
  std::vector<SpecKey> keys = listKeys(spec);
  size_t pathWidth = 0, valueWidth = 0;
  for (const SpecKey &key : keys) {
    pathWidth = std::max(pathWidth, key.path.size());
    valueWidth = std::max(valueWidth, key.defaultJson.size());
  }
  // One long list must not push the origins of all other keys out of sight.
  valueWidth = std::min<size_t>(valueWidth, 32);
  std::string text;
  for (const SpecKey &key : keys) {
    std::string origin = "default";
    auto found = spec.origins.find(key.path);
    if (found != spec.origins.end())
      origin = (found->second.kind == Origin::Kind::File ? "file " : "flag ") +
               found->second.place;
    text += key.path + std::string(pathWidth - key.path.size() + 2, ' ');
    text += key.defaultJson;
    if (key.defaultJson.size() < valueWidth)
      text += std::string(valueWidth - key.defaultJson.size(), ' ');
    text += "  " + origin + "\n";
  }
  return text;
}

llvm::Error checkConsistent(const TrainingSpec &spec) {
  Faults faults(spec);
  addInconsistencies(spec, faults);
  return faults.take();
}

llvm::Error checkExecutable(const TrainingSpec &spec) {
  Faults faults(spec);
  addInconsistencies(spec, faults);
  auto refuse = [&](llvm::StringRef path, llvm::StringRef word,
                    llvm::StringRef instead) {
    faults.add(path, "\"" + word +
                         "\" is a later step, not executed yet; use " +
                         instead);
  };
  if (spec.loss.fromOutput.empty() &&
      spec.loss.kind != LossSpec::Kind::CrossEntropy)
    refuse(
        "loss.kind", spelling(spec.loss.kind),
        "\"cross_entropy\", or loss.from_output for a loss inside the graph");
  if (spec.optimizer.kind != OptimizerSpec::Kind::AdamW)
    refuse("optimizer.kind", spelling(spec.optimizer.kind), "\"adamw\"");
  if (spec.precision.compute != PrecisionSpec::Compute::F32)
    refuse("precision.compute", spelling(spec.precision.compute), "\"f32\"");
  return faults.take();
}

llvm::Expected<TrainingSpec>
loadTrainingSpec(llvm::StringRef path, llvm::ArrayRef<std::string> overrides) {
  TrainingSpec spec;
  if (!path.empty()) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!buffer)
      return llvm::createStringError(buffer.getError(),
                                     "cannot read the training spec '" + path +
                                         "': " + buffer.getError().message());
    llvm::Expected<TrainingSpec> parsed =
        parseTrainingSpec((*buffer)->getBuffer(), path);
    if (!parsed)
      return parsed.takeError();
    spec = std::move(*parsed);
  }
  for (const std::string &assignment : overrides)
    if (llvm::Error error = applyOverride(spec, assignment))
      return llvm::Expected<TrainingSpec>(std::move(error));
  if (llvm::Error error = checkExecutable(spec))
    return llvm::Expected<TrainingSpec>(std::move(error));
  return spec;
}

llvm::StringRef spelling(LossSpec::Kind kind) {
  return wordOf<LossSpec::Kind>(kind, kLossKinds);
}
llvm::StringRef spelling(OptimizerSpec::Kind kind) {
  return wordOf<OptimizerSpec::Kind>(kind, kOptimizerKinds);
}
llvm::StringRef spelling(ScheduleSpec::Kind kind) {
  return wordOf<ScheduleSpec::Kind>(kind, kScheduleKinds);
}
llvm::StringRef spelling(InitSpec::Kind kind) {
  return wordOf<InitSpec::Kind>(kind, kInitKinds);
}
llvm::StringRef spelling(PrecisionSpec::Compute compute) {
  return wordOf<PrecisionSpec::Compute>(compute, kComputeTypes);
}
llvm::StringRef spelling(TrainingSpec::Dropout dropout) {
  return wordOf<TrainingSpec::Dropout>(dropout, kDropoutModes);
}

} // namespace echelon
