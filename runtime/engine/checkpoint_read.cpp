// SPDX-License-Identifier: Apache-2.0
//
// Finding and loading of checkpoints.
#include "runtime/engine/checkpoint.h"

#include "runtime/base/json_reader.h"
#include "runtime/base/text.h"
#include "runtime/engine/weights.h"
#include "runtime/observe/console.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <dirent.h>
#include <unistd.h>

namespace echelon::runtime {

namespace {

// Reads the members of state.json; remembers the first that is missing or
// malformed.
class StateReader {
public:
  explicit StateReader(const JsonValue &object) : object(object) {}

  uint64_t whole(const char *key) {
    const JsonValue *value = object.find(key);
    if (value && value->isUnsigned)
      return value->unsignedNumber;
    note(key);
    return 0;
  }

  std::string text(const char *key) {
    const JsonValue *value = object.find(key);
    if (value && value->kind == JsonKind::Text)
      return value->text;
    note(key);
    return "";
  }

  uint64_t hash(const char *key) {
    std::string digits = text(key);
    char *end = nullptr;
    uint64_t value = strtoull(digits.c_str(), &end, 16);
    if (digits.size() != 16 || *end)
      note(key);
    return value;
  }

  const char *firstBad() const { return bad; }

private:
  void note(const char *key) { bad = bad ? bad : key; }

  const JsonValue &object;
  const char *bad = nullptr;
};

Status checkFile(const std::string &path, uint64_t bytes, uint64_t hash) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.isOk())
    return file.status();
  if (file.value().size() != bytes)
    return failure(ECH_EXIT_INPUT, "'%s' has %llu bytes, %llu were written",
                   path.c_str(),
                   static_cast<unsigned long long>(file.value().size()),
                   static_cast<unsigned long long>(bytes));
  if (xxh64(file.value().data(), bytes) != hash)
    return failure(ECH_EXIT_INPUT, "'%s' differs from what was written",
                   path.c_str());
  return {};
}

Result<FoundCheckpoint> readCheckpoint(const std::string &path) {
  std::string statePath = path + "/state.json";
  Result<std::string> text = readTextFile(statePath, size_t{1} << 16);
  if (!text.isOk())
    return text.status();
  Result<JsonValue> json = parseJson(text.value());
  if (!json.isOk())
    return failure(ECH_EXIT_INPUT, "'%s': %s", statePath.c_str(),
                   json.status().message.c_str());
  StateReader reader(json.value());
  FoundCheckpoint found;
  found.path = path;
  uint64_t format = reader.whole("format");
  found.state.step = static_cast<int64_t>(reader.whole("step") & INT64_MAX);
  found.state.seed = reader.whole("seed");
  found.state.samples = reader.whole("samples");
  found.state.tokens = reader.whole("tokens");
  found.planHash = reader.text("plan_hash");
  found.dataFingerprint = reader.hash("data_fingerprint");
  uint64_t modelBytes = reader.whole("model_bytes");
  uint64_t modelHash = reader.hash("model_xxh64");
  uint64_t optimizerBytes = reader.whole("optimizer_bytes");
  uint64_t optimizerHash = reader.hash("optimizer_xxh64");
  if (reader.firstBad() || format != 1)
    return failure(ECH_EXIT_INPUT, "'%s' has no valid '%s' of format 1",
                   statePath.c_str(),
                   reader.firstBad() ? reader.firstBad() : "format");
  ECH_RETURN_IF_FAILED(
      checkFile(path + "/model.safetensors", modelBytes, modelHash));
  ECH_RETURN_IF_FAILED(checkFile(path + "/optimizer.safetensors",
                                 optimizerBytes, optimizerHash));
  return found;
}

Status restoreArena(Session &session, int arena, const std::string &path) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file.isOk())
    return file.status();
  size_t extra = 0;
  Status status = readVariables(session.program, session.device, arena,
                                file.value(), true, extra);
  if (!status.isOk())
    status.message += "; --resume needs the model and optimizer that wrote the "
                      "checkpoint, --weights takes parameters only";
  return status;
}

} // namespace

std::vector<int64_t> listCheckpoints(const std::string &directory) {
  std::vector<int64_t> steps;
  DIR *folder = opendir(directory.c_str());
  if (!folder)
    return steps;
  while (const dirent *entry = readdir(folder)) {
    std::string_view name = entry->d_name;
    uint64_t step = 0;
    if (name.substr(0, 5) == "step-" && parseUnsigned(name.substr(5), step) &&
        step <= INT64_MAX)
      steps.push_back(static_cast<int64_t>(step));
  }
  closedir(folder);
  std::sort(steps.begin(), steps.end());
  return steps;
}

Result<FoundCheckpoint> findCheckpoint(const std::string &directory) {
  if (access((directory + "/state.json").c_str(), F_OK) == 0) {
    // Through `latest` the folder above would be the wrong one.
    char real[PATH_MAX];
    return readCheckpoint(realpath(directory.c_str(), real) ? real : directory);
  }
  std::vector<int64_t> steps = listCheckpoints(directory);
  std::vector<int64_t> skipped;
  while (!steps.empty()) {
    std::string path = checkpointPath(directory, steps.back());
    Result<FoundCheckpoint> found = readCheckpoint(path);
    if (found.isOk()) {
      found.value().skipped = skipped;
      return found;
    }
    printNote("skipping the damaged checkpoint '" + path +
              "': " + found.status().message);
    skipped.push_back(steps.back());
    steps.pop_back();
  }
  return failure(ECH_EXIT_INPUT, "--resume '%s': no complete checkpoint there",
                 directory.c_str());
}

Status loadCheckpoint(Session &session, const FoundCheckpoint &found) {
  const Options &options = session.options;
  if (options.hasSeed && options.seed != found.state.seed)
    return failure(
        ECH_EXIT_USAGE, "--seed %llu, but '%s' was trained with seed %llu",
        static_cast<unsigned long long>(options.seed), found.path.c_str(),
        static_cast<unsigned long long>(found.state.seed));
  if (found.dataFingerprint != session.dataFingerprint)
    return failure(ECH_EXIT_USAGE,
                   "'%s' was trained on other data than '%s'; to start anew "
                   "from its weights: --weights '%s/model.safetensors'",
                   found.path.c_str(), (options.data + options.batches).c_str(),
                   found.path.c_str());
  if (found.planHash != session.program.plan_hash)
    printNote(formatText("'%s' was written under plan %s, this binary follows "
                         "%s",
                         found.path.c_str(), found.planHash.c_str(),
                         session.program.plan_hash));
  ECH_RETURN_IF_FAILED(restoreArena(session, ECH_ARENA_PARAMETERS,
                                    found.path + "/model.safetensors"));
  ECH_RETURN_IF_FAILED(restoreArena(session, ECH_ARENA_OPTIMIZER,
                                    found.path + "/optimizer.safetensors"));
  session.state = found.state;
  return {};
}

} // namespace echelon::runtime
