// SPDX-License-Identifier: Apache-2.0
//
// The training spec: what is read, what is refused and with which words, how
// overrides and origins behave, and that the JSON Schema and the reference page
// name exactly the parser's keys.
#include "compiler/spec/parameter_globs.h"
#include "compiler/spec/training_spec.h"
#include "gtest/gtest.h"
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace echelon {
namespace {

TrainingSpec parsed(llvm::StringRef json) {
  llvm::Expected<TrainingSpec> spec = parseTrainingSpec(json, "train.json");
  if (!spec) {
    ADD_FAILURE() << llvm::toString(spec.takeError());
    return TrainingSpec();
  }
  return *spec;
}

std::string faultsOf(llvm::StringRef json) {
  llvm::Expected<TrainingSpec> spec = parseTrainingSpec(json, "train.json");
  if (spec) {
    ADD_FAILURE() << "accepted: " << json.str();
    return "";
  }
  return llvm::toString(spec.takeError());
}

std::string setFault(TrainingSpec &spec, llvm::StringRef assignment) {
  llvm::Error error = applyOverride(spec, assignment);
  return error ? llvm::toString(std::move(error)) : "";
}

std::string readFile(const std::string &path) {
  std::ifstream file(std::string(ECHELON_SOURCE_DIR "/") + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(TrainingSpec, ReadsEveryKey) {
  TrainingSpec spec = parsed(R"({
    "$schema": "train.schema.json",
    "loss": {"kind": "cross_entropy", "logits": "y", "labels": "t",
             "ignore_index": 0, "label_smoothing": 0.1, "shift_labels": true},
    "optimizer": {"kind": "adamw", "lr": 3e-4, "betas": [0.8, 0.95],
                  "eps": 1e-6, "weight_decay": 0, "no_decay": ["@1d", "*.b"],
                  "grad_clip_norm": 1,
                  "schedule": {"kind": "cosine", "warmup_steps": 10,
                               "total_steps": 100, "min_lr": 1e-5}},
    "parameters": {"trainable": ["h.*"], "frozen": ["h.0.*"],
                   "tie": [["a", "b"]], "split": ["c"],
                   "init": {"kind": "uniform", "std": 0.5}},
    "precision": {"compute": "f32"},
    "symbols": {"seq": 64},
    "batch": {"micro": 8, "accumulate": 2},
    "dropout": "off",
    "seed": 7})");
  EXPECT_EQ(spec.loss.logits, "y");
  EXPECT_EQ(spec.loss.labels, "t");
  EXPECT_EQ(spec.loss.ignoreIndex, 0);
  EXPECT_EQ(spec.loss.labelSmoothing, 0.1);
  EXPECT_TRUE(spec.loss.shiftLabels);
  EXPECT_EQ(spec.optimizer.lr, 3e-4);
  EXPECT_EQ(spec.optimizer.betas[0], 0.8);
  EXPECT_EQ(spec.optimizer.betas[1], 0.95);
  EXPECT_EQ(spec.optimizer.eps, 1e-6);
  EXPECT_EQ(spec.optimizer.weightDecay, 0);
  EXPECT_EQ(spec.optimizer.noDecay, (std::vector<std::string>{"@1d", "*.b"}));
  EXPECT_EQ(spec.optimizer.gradClipNorm, 1);
  EXPECT_EQ(spec.optimizer.schedule.kind, ScheduleSpec::Kind::Cosine);
  EXPECT_EQ(spec.optimizer.schedule.warmupSteps, 10);
  EXPECT_EQ(spec.optimizer.schedule.totalSteps, 100);
  EXPECT_EQ(spec.optimizer.schedule.minLr, 1e-5);
  EXPECT_EQ(spec.parameters.trainable, (std::vector<std::string>{"h.*"}));
  EXPECT_EQ(spec.parameters.frozen, (std::vector<std::string>{"h.0.*"}));
  EXPECT_EQ(spec.parameters.tie,
            (std::vector<std::vector<std::string>>{{"a", "b"}}));
  EXPECT_EQ(spec.parameters.split, (std::vector<std::string>{"c"}));
  EXPECT_EQ(spec.parameters.init.kind, InitSpec::Kind::Uniform);
  EXPECT_EQ(spec.parameters.init.std, 0.5);
  EXPECT_EQ(spec.symbols.at("seq"), 64);
  EXPECT_EQ(spec.batch.micro, 8);
  EXPECT_EQ(spec.batch.accumulate, 2);
  EXPECT_EQ(spec.dropout, TrainingSpec::Dropout::Off);
  EXPECT_EQ(spec.seed, 7);
  EXPECT_FALSE(static_cast<bool>(checkExecutable(spec)));
}

TEST(TrainingSpec, EmptySpecHoldsTheDefaultsAndIsExecutable) {
  TrainingSpec spec = parsed("{}");
  EXPECT_EQ(spec.optimizer.lr, 1e-3);
  EXPECT_TRUE(spec.origins.empty());
  EXPECT_FALSE(static_cast<bool>(checkExecutable(spec)));
}

TEST(TrainingSpec, UnknownKeyNamesTheNearestOneAndItsPlace) {
  EXPECT_EQ(faultsOf("{\n \"optimizer\": {\n  \"beta\": [0.9, 0.95]\n }\n}"),
            "train.json:3:3: optimizer.beta is not a known key, did you mean "
            "'betas'?");
  EXPECT_EQ(faultsOf(R"({"optimiser": {}})"),
            "train.json:1:2: optimiser is not a known key, did you mean "
            "'optimizer'?");
  EXPECT_EQ(faultsOf(R"({"batch": {"xyzzy": 1}})"),
            "train.json:1:12: batch.xyzzy is not a known key; known: micro, "
            "accumulate");
}

TEST(TrainingSpec, ReportsAllFaultsOfAFileAtOnce) {
  EXPECT_EQ(
      faultsOf("{\"optimizer\": {\"lr\": -1,\n\"betas\": [0.9, 1],\n"
               "\"eps\": \"small\"},\n\"sede\": 3}"),
      "train.json:1:16: optimizer.lr is -1, but must be zero or a positive "
      "number\n"
      "train.json:2:1: optimizer.betas is 1, but must be in [0, 1)\n"
      "train.json:3:1: optimizer.eps expects a number, not a string\n"
      "train.json:4:1: sede is not a known key, did you mean 'seed'?");
}

TEST(TrainingSpec, RefusesWrongTypesAndRanges) {
  struct Case {
    const char *json, *message;
  } cases[] = {
      {R"({"loss": 3})", "loss expects an object, not an integer"},
      {R"([])", "the training spec expects an object, not an array"},
      {R"({"loss": {"kind": "crossentropy"}})",
       "loss.kind does not know \"crossentropy\", did you mean "
       "'cross_entropy'?"},
      {R"({"loss": {"label_smoothing": 1}})",
       "loss.label_smoothing is 1, but must be in [0, 1)"},
      {R"({"loss": {"shift_labels": 1}})",
       "loss.shift_labels expects true or false, not an integer"},
      {R"({"loss": {"labels": ""}})", "loss.labels is empty"},
      {R"({"optimizer": {"betas": [0.9]}})",
       "optimizer.betas has 1 elements, but must have 2"},
      {R"({"optimizer": {"lr": 1e999}})", "not valid JSON"},
      {R"({"optimizer": {"lr": true}})",
       "optimizer.lr expects a number, not a boolean"},
      {R"({"optimizer": {"grad_clip_norm": 0}})",
       "optimizer.grad_clip_norm is 0, but must be a positive number"},
      {R"({"optimizer": {"no_decay": ["@biases"]}})",
       "unknown role word \"@biases\", did you mean '@bias'?"},
      {R"({"optimizer": {"no_decay": ["h[.w"]}})", "\"h[.w\" is not a glob"},
      {R"({"optimizer": {"no_decay": "*"}})",
       "optimizer.no_decay expects an array of globs, not a string"},
      {R"({"parameters": {"frozen": ["@norm"]}})",
       "only known in optimizer.no_decay"},
      {R"({"parameters": {"tie": [["a"]]}})", "fewer than two names"},
      {R"({"parameters": {"tie": [["a", "b"], ["b", "c"]]}})",
       "names \"b\" twice"},
      {R"({"parameters": {"init": "xavier"}})",
       "parameters.init is \"xavier\", but must be \"model\" or an object"},
      {R"({"symbols": {"seq": 0}})",
       "symbols.seq is 0, but must be in [1, 2147483647]"},
      {R"({"batch": {"micro": 2.5}})",
       "batch.micro expects an integer, not a number"},
      {R"({"batch": {"accumulate": null}})",
       "batch.accumulate expects an integer, not null"},
      {R"({"seed": -1})", "seed is -1, but must be"},
      {R"({"seed": 1, "seed": 2})", "the key \"seed\" occurs twice"},
      {"{\"seed\": 1 // no\n}", "not valid JSON"},
      {R"({"seed": 1} x)", "not valid JSON"},
      {"", "not valid JSON"},
  };
  for (const Case &c : cases)
    EXPECT_NE(faultsOf(c.json).find(c.message), std::string::npos)
        << c.json << "\n gives " << faultsOf(c.json) << "\n not  " << c.message;
}

TEST(TrainingSpec, RefusesDeepNesting) {
  std::string deep(100000, '[');
  EXPECT_NE(faultsOf(deep).find("nested deeper than 16 levels"),
            std::string::npos);
}

TEST(TrainingSpec, OverridesWinAndKeepTheirOrigin) {
  TrainingSpec spec = parsed("{\"optimizer\":\n{\"lr\": 0.5, \"eps\": 1e-7}}");
  EXPECT_EQ(setFault(spec, "optimizer.lr=3e-4"), "");
  EXPECT_EQ(setFault(spec, "optimizer.schedule.kind=linear"), "");
  EXPECT_EQ(setFault(spec, "symbols.seq=128"), "");
  EXPECT_EQ(setFault(spec, "parameters.frozen=[\"a.*\"]"), "");
  EXPECT_EQ(setFault(spec, "parameters.init={\"kind\": \"ones\"}"), "");
  EXPECT_EQ(spec.optimizer.lr, 3e-4);
  EXPECT_EQ(spec.optimizer.schedule.kind, ScheduleSpec::Kind::Linear);
  EXPECT_EQ(spec.symbols.at("seq"), 128);
  EXPECT_EQ(spec.parameters.init.kind, InitSpec::Kind::Ones);
  std::string text = printConfig(spec);
  auto lineOf = [&](const std::string &path) {
    size_t at = text.find(path + " ");
    return at == std::string::npos ? std::string()
                                   : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(lineOf("optimizer.lr").find("0.0003"), std::string::npos);
  EXPECT_NE(lineOf("optimizer.lr").find("flag --set optimizer.lr=3e-4"),
            std::string::npos);
  EXPECT_NE(lineOf("optimizer.eps").find("file train.json:2:13"),
            std::string::npos);
  EXPECT_NE(lineOf("optimizer.weight_decay").find("0.01"), std::string::npos);
  EXPECT_NE(lineOf("optimizer.weight_decay").find("default"),
            std::string::npos);
  EXPECT_NE(lineOf("symbols.seq").find("128"), std::string::npos);
  for (const SpecKey &key : trainingSpecKeys())
    if (key.path != "symbols.*") {
      EXPECT_NE(lineOf(key.path), "") << key.path;
    }
}

TEST(TrainingSpec, AWrongOverrideChangesNothing) {
  TrainingSpec spec = parsed("{}");
  EXPECT_EQ(setFault(spec, "optimizer.lr"),
            "--set optimizer.lr: expects path=value, for example "
            "optimizer.lr=3e-4");
  EXPECT_EQ(setFault(spec, "optimizer.lrr=1"),
            "--set optimizer.lrr=1: optimizer.lrr is not a known key, did you "
            "mean 'lr'?");
  EXPECT_EQ(setFault(spec, "optimiser.lr=1"),
            "--set optimiser.lr=1: optimiser.lr is not a known key, did you "
            "mean 'optimizer.lr'?");
  EXPECT_EQ(setFault(spec, "optimizer={\"lr\": 1, \"eps\": -1}"),
            "--set optimizer={\"lr\": 1, \"eps\": -1}: optimizer.eps is -1, "
            "but must be a positive number");
  EXPECT_EQ(spec.optimizer.lr, 1e-3);
  EXPECT_TRUE(spec.origins.empty());
}

std::string checkFault(llvm::StringRef json) {
  llvm::Error error = checkExecutable(parsed(json));
  return error ? llvm::toString(std::move(error)) : "";
}

TEST(TrainingSpec, RefusesKeysWithoutEffect) {
  EXPECT_EQ(checkFault(R"({"loss": {"from_output": "l", "labels": "t"}})"),
            "train.json:1:31: loss.labels has no effect beside "
            "loss.from_output \"l\"; remove it");
  EXPECT_EQ(checkFault(R"({"optimizer": {"momentum": 0.9}})"),
            "train.json:1:16: optimizer.momentum has no effect with "
            "optimizer.kind \"adamw\"; remove it");
  EXPECT_NE(
      checkFault(R"({"parameters": {"init": {"kind": "zeros", "std": 1}}})")
          .find("parameters.init.std has no effect"),
      std::string::npos);
  EXPECT_NE(checkFault(R"({"optimizer": {"schedule": {"min_lr": 0}}})")
                .find("has no effect with optimizer.schedule.kind"),
            std::string::npos);
}

TEST(TrainingSpec, SchedulesNeedTheirLength) {
  EXPECT_NE(checkFault(R"({"optimizer": {"schedule": {"kind": "linear"}}})")
                .find("optimizer.schedule.total_steps is missing"),
            std::string::npos);
  EXPECT_NE(checkFault(R"({"optimizer": {"schedule": {"kind": "cosine",
              "total_steps": 5, "warmup_steps": 5}}})")
                .find("warmup_steps is 5, but must be below"),
            std::string::npos);
  EXPECT_NE(checkFault(R"({"optimizer": {"lr": 1e-3, "schedule":
              {"kind": "cosine", "total_steps": 5, "min_lr": 0.1}}})")
                .find("min_lr is 0.1, but must not exceed optimizer.lr, which "
                      "is 0.001"),
            std::string::npos);
}

TEST(TrainingSpec, RefusesByNameWhatIsNotExecutedYet) {
  EXPECT_EQ(checkFault(R"({"precision": {"compute": "bf16"}})"),
            "train.json:1:16: precision.compute \"bf16\" is a later step, not "
            "executed yet; use \"f32\"");
  for (const char *kind : {"adam", "sgd", "momentum"})
    EXPECT_NE(
        checkFault(std::string(R"({"optimizer": {"kind": ")") + kind + "\"}}")
            .find("is a later step"),
        std::string::npos);
  for (const char *kind : {"mse", "l1", "bce_with_logits"})
    EXPECT_NE(checkFault(std::string(R"({"loss": {"kind": ")") + kind + "\"}}")
                  .find("is a later step"),
              std::string::npos);
  for (const char *kind : {"normal", "uniform", "zeros", "ones", "xavier"})
    EXPECT_EQ(checkFault(std::string(R"({"parameters": {"init": {"kind": ")") +
                         kind + "\"}}}"),
              "");
  EXPECT_EQ(checkFault(R"({"dropout": "off", "loss": {"from_output": "l"}})"),
            "");
}

TEST(TrainingSpec, MissingFileIsNamed) {
  llvm::Expected<TrainingSpec> spec = loadTrainingSpec("/no/such/t.json", {});
  ASSERT_FALSE(static_cast<bool>(spec));
  EXPECT_NE(llvm::toString(spec.takeError())
                .find("cannot read the training spec '/no/such/t.json'"),
            std::string::npos);
}

TEST(ParameterGlobs, MatchesNamesAndRoles) {
  auto globs = ParameterGlobs::create({"h.{0,1}.*.bias", "@norm", "exact"},
                                      /*allowRoles=*/true);
  ASSERT_TRUE(static_cast<bool>(globs));
  ParameterTraits norm{"ln.weight", 1, true, false, false};
  ParameterTraits bias{"h.1.attn.bias", 1, false, true, false};
  ParameterTraits other{"h.2.attn.bias", 1, false, true, false};
  EXPECT_TRUE(globs->matches(norm));
  EXPECT_TRUE(globs->matches(bias));
  EXPECT_FALSE(globs->matches(other));
  EXPECT_EQ(globs->unmatched({norm, bias, other}),
            (std::vector<std::string>{"exact"}));
  // Entries stay usable after a move: the patterns refer to their own text.
  ParameterGlobs moved = std::move(*globs);
  EXPECT_TRUE(moved.matches(bias));
}

// The schema's leaves as dotted paths with their definitions.
void walkSchema(const nlohmann::json &node, const std::string &path,
                std::map<std::string, nlohmann::json> &leaves) {
  if (node.contains("oneOf")) { // parameters.init: "model" or an object
    for (const auto &option : node["oneOf"])
      if (option.contains("properties"))
        walkSchema(option, path, leaves);
    return;
  }
  if (node.contains("properties")) {
    EXPECT_EQ(node.value("additionalProperties", true), false) << path;
    for (const auto &[name, child] : node["properties"].items())
      if (name != "$schema")
        walkSchema(child, path.empty() ? name : path + "." + name, leaves);
    return;
  }
  if (node.contains("additionalProperties"))
    return walkSchema(node["additionalProperties"], path + ".*", leaves);
  leaves[path] = node;
}

std::string schemaType(const SpecKey &key) {
  if (key.type == "integer" || key.type == "integers")
    return "integer";
  if (key.type == "number" || key.type == "boolean")
    return key.type;
  if (key.type == "choice" || key.type == "string")
    return "string";
  return "array";
}

TEST(TrainingSpecSchema, HasExactlyTheParsersKeys) {
  nlohmann::json schema = nlohmann::json::parse(
      readFile("docs/reference/schema/train.schema.json"), nullptr, false);
  ASSERT_FALSE(schema.is_discarded());
  std::map<std::string, nlohmann::json> leaves;
  walkSchema(schema, "", leaves);
  std::set<std::string> inParser;
  for (const SpecKey &key : trainingSpecKeys()) {
    inParser.insert(key.path);
    ASSERT_TRUE(leaves.count(key.path)) << key.path << " lacks in the schema";
    const nlohmann::json &leaf = leaves[key.path];
    EXPECT_FALSE(leaf.value("description", "").empty()) << key.path;
    nlohmann::json type = leaf["type"];
    bool isNullable = type.is_array();
    EXPECT_EQ(isNullable ? type[0] : type, schemaType(key)) << key.path;
    if (key.path == "symbols.*")
      continue;
    nlohmann::json fallback = nlohmann::json::parse(key.defaultJson);
    if (key.path == "parameters.init.kind") { // "model" is the string form
      EXPECT_EQ(leaf["enum"], nlohmann::json(std::vector<std::string>(
                                  key.choices.begin() + 1, key.choices.end())));
      continue;
    }
    EXPECT_EQ(leaf["default"], fallback) << key.path;
    EXPECT_EQ(isNullable, fallback.is_null()) << key.path;
    if (key.type == "choice") {
      EXPECT_EQ(leaf["enum"], nlohmann::json(key.choices)) << key.path;
    }
  }
  for (const auto &[path, leaf] : leaves)
    EXPECT_TRUE(inParser.count(path)) << path << " is only in the schema";
}

TEST(TrainingSpecSchema, ReferencePageNamesEveryKey) {
  std::string page = readFile("docs/reference/train.md");
  for (const SpecKey &key : trainingSpecKeys()) {
    EXPECT_NE(page.find("`" + key.path + "`"), std::string::npos) << key.path;
    for (const std::string &word : key.choices)
      EXPECT_NE(page.find("`" + word + "`"), std::string::npos) << word;
  }
}

} // namespace
} // namespace echelon
