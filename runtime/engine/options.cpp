// SPDX-License-Identifier: Apache-2.0
//
// Flag parsing from one table, which also makes the help and the environment
// names.
#include "runtime/engine/options.h"

#include "runtime/base/environment.h"
#include "runtime/base/suggest.h"
#include "runtime/base/text.h"

namespace echelon::runtime {

namespace {

enum class FlagKind { Text, Count, Seed, Real, Switch };

struct Flag {
  const char *name;
  FlagKind kind;
  const char *argument;
  const char *help;
  std::string Options::*text;
  int64_t Options::*count;
  bool Options::*enabled;
};

constexpr Flag textFlag(const char *name, const char *argument,
                        std::string Options::*member, const char *help) {
  return {name, FlagKind::Text, argument, help, member, nullptr, nullptr};
}

constexpr Flag countFlag(const char *name, int64_t Options::*member,
                         const char *help) {
  return {name, FlagKind::Count, "N", help, nullptr, member, nullptr};
}

constexpr Flag switchFlag(const char *name, bool Options::*member,
                          const char *help) {
  return {name, FlagKind::Switch, "", help, nullptr, nullptr, member};
}

constexpr Flag kFlags[] = {
    textFlag("data", "F", &Options::data, "token file to train on"),
    textFlag("token-dtype", "T", &Options::tokenDtype,
             "uint16 or uint32 (default: by .u16.bin, .u32.bin; uint16)"),
    textFlag("batches", "F", &Options::batches,
             "safetensors file with tensors <step>.<input>"),
    countFlag("steps", &Options::steps,
              "updates in total (default with --batches: all)"),
    countFlag("accumulate", &Options::accumulate,
              "microbatches a step (default: as compiled, or by --batches)"),
    {"seed", FlagKind::Seed, "N", "data order and initial values", nullptr,
     nullptr, nullptr},
    textFlag("weights", "F", &Options::weights,
             "weights: safetensors by names, or the model's file or folder"),
    textFlag("out", "DIR", &Options::out, "write checkpoints here"),
    countFlag("save-every", &Options::saveEvery,
              "checkpoint each N steps, besides the end"),
    textFlag("resume", "DIR", &Options::resume,
             "continue from the newest complete checkpoint"),
    textFlag("eval-data", "F", &Options::evalData, "held-out token file"),
    countFlag("eval-every", &Options::evalEvery,
              "evaluate each N steps, besides the end"),
    countFlag("eval-batches", &Options::evalBatches,
              "microbatches of one evaluation (default 16)"),
    countFlag("sample", &Options::sample,
              "print N generated tokens at the end"),
    textFlag("prompt", "TEXT", &Options::prompt,
             "what the sample continues (byte vocabularies; default \"The \")"),
    textFlag("metrics", "F", &Options::metrics, "one JSON object a step"),
    textFlag("gradient-norms", "F", &Options::gradientNorms,
             "norms of the first step's gradients, by parameter"),
    countFlag("log-every", &Options::logEvery,
              "a line each N steps (default 10), first and last always"),
    countFlag("threads", &Options::threads, "worker threads (default 1)"),
    {"peak-tflops", FlagKind::Real, "X",
     "peak rate for MFU (default: echelon doctor's)", nullptr, nullptr,
     nullptr},
    switchFlag("check-numerics", &Options::checkNumerics,
               "stop at the first non-finite result and name its op"),
    switchFlag("print-program", &Options::printProgram,
               "describe the program as JSON and end"),
    switchFlag("version", &Options::version, "print the version and end"),
    switchFlag("help", &Options::help, "print this text and end"),
};

Status setFlag(Options &options, const Flag &flag, const std::string &value,
               const std::string &origin) {
  uint64_t whole = 0;
  switch (flag.kind) {
  case FlagKind::Text:
    if (value.empty())
      return failure(ECH_EXIT_USAGE, "%s needs a value", origin.c_str());
    options.*flag.text = value;
    return {};
  case FlagKind::Count:
    if (!parseUnsigned(value, whole) || whole == 0 || whole > INT64_MAX)
      return failure(ECH_EXIT_USAGE, "%s '%s' is not a whole number above 0",
                     origin.c_str(), value.c_str());
    options.*flag.count = static_cast<int64_t>(whole);
    return {};
  case FlagKind::Seed:
    if (!parseUnsigned(value, options.seed))
      return failure(ECH_EXIT_USAGE, "%s '%s' is not a whole number below 2^64",
                     origin.c_str(), value.c_str());
    options.hasSeed = true;
    return {};
  case FlagKind::Real:
    if (!parseReal(value, options.peakTflops) || options.peakTflops <= 0)
      return failure(ECH_EXIT_USAGE, "%s '%s' is not a number above 0",
                     origin.c_str(), value.c_str());
    return {};
  case FlagKind::Switch:
    if (value != "1" && value != "0")
      return failure(ECH_EXIT_USAGE, "%s '%s' is neither 0 nor 1",
                     origin.c_str(), value.c_str());
    options.*flag.enabled = value == "1";
    return {};
  }
  return {};
}

const Flag *findFlag(std::string_view name) {
  for (const Flag &flag : kFlags)
    if (name == flag.name)
      return &flag;
  return nullptr;
}

Status readEnvironment(Options &options, const char *const *environment) {
  std::vector<std::string> known;
  for (const Flag &flag : kFlags)
    known.push_back(environmentName(flag.name));
  ECH_RETURN_IF_FAILED(checkEnvironment(environment, known));
  for (; environment && *environment; ++environment) {
    std::string entry = *environment;
    size_t equals = entry.find('=');
    for (size_t i = 0; i < known.size(); ++i)
      if (entry.substr(0, equals) == known[i])
        ECH_RETURN_IF_FAILED(
            setFlag(options, kFlags[i], entry.substr(equals + 1), known[i]));
  }
  return {};
}

Status readArguments(Options &options,
                     const std::vector<std::string> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (argument.substr(0, 2) != "--" || argument.size() == 2)
      return failure(ECH_EXIT_USAGE, "unexpected argument '%s', see --help",
                     argument.c_str());
    size_t equals = argument.find('=');
    std::string shown = argument.substr(0, equals);
    const Flag *flag = findFlag(std::string_view(shown).substr(2));
    if (!flag) {
      std::vector<std::string> names;
      for (const Flag &known : kFlags)
        names.push_back(std::string("--") + known.name);
      return failure(ECH_EXIT_USAGE, "unknown flag '%s'%s", shown.c_str(),
                     suggestion(shown, {names.begin(), names.end()}).c_str());
    }
    std::string value = "1";
    if (equals != std::string::npos)
      value = argument.substr(equals + 1);
    else if (flag->kind != FlagKind::Switch && i + 1 == arguments.size())
      return failure(ECH_EXIT_USAGE, "%s needs a value", shown.c_str());
    else if (flag->kind != FlagKind::Switch)
      value = arguments[++i];
    ECH_RETURN_IF_FAILED(setFlag(options, *flag, value, shown));
  }
  return {};
}

Status checkTogether(const Options &options) {
  if (options.help || options.version || options.printProgram)
    return {};
  if (options.data.empty() == options.batches.empty())
    return failure(ECH_EXIT_USAGE,
                   options.data.empty()
                       ? "give the data: --data FILE or --batches FILE"
                       : "--data and --batches exclude each other");
  if (!options.data.empty() && options.steps == 0)
    return failure(ECH_EXIT_USAGE, "--data needs --steps N");
  if (options.saveEvery && options.out.empty())
    return failure(ECH_EXIT_USAGE, "--save-every needs --out DIR");
  if (options.evalEvery && options.evalData.empty())
    return failure(ECH_EXIT_USAGE, "--eval-every needs --eval-data FILE");
  if (!options.resume.empty() && !options.weights.empty())
    return failure(ECH_EXIT_USAGE,
                   "--resume and --weights exclude each other: a checkpoint "
                   "holds all weights");
  // A thread costs a workspace; more than this is a typing error.
  if (options.threads > 1024)
    return failure(ECH_EXIT_USAGE, "--threads %lld is above 1024",
                   static_cast<long long>(options.threads));
  return {};
}

} // namespace

Result<Options> parseOptions(const std::vector<std::string> &arguments,
                             const char *const *environment) {
  Options options;
  ECH_RETURN_IF_FAILED(readEnvironment(options, environment));
  ECH_RETURN_IF_FAILED(readArguments(options, arguments));
  ECH_RETURN_IF_FAILED(checkTogether(options));
  return options;
}

std::string helpText(const char *binary) {
  std::string out;
  appendFormat(out,
               "usage: %s --data F | --batches F  --steps N  [flags]\n"
               "trains the compiled model; each flag may also be given as "
               "ECHELON_<FLAG>\n\n",
               binary);
  for (const Flag &flag : kFlags) {
    std::string left = std::string("--") + flag.name;
    if (*flag.argument)
      left += std::string(" ") + flag.argument;
    appendFormat(out, "  %-20s %s\n", left.c_str(), flag.help);
  }
  appendFormat(out,
               "\nexamples:\n"
               "  %s --data text.bin --steps 1000 --out run --save-every 200\n"
               "  %s --data text.bin --steps 2000 --out run --resume run\n"
               "exit codes: 0 done, 1 input, 2 usage, 70 internal, 74 disk, "
               "77 non-finite numbers,\n  78 memory, 85 stopped by a signal "
               "after a checkpoint\n",
               binary, binary);
  return out;
}

} // namespace echelon::runtime
