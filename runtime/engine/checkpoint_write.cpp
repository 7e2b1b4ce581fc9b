// SPDX-License-Identifier: Apache-2.0
//
// Writing of checkpoints: a folder at a time, visible only when complete and on
// disk.
#include "runtime/engine/checkpoint.h"

#include "runtime/base/json_writer.h"
#include "runtime/base/text.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

namespace echelon::runtime {

namespace {

constexpr size_t kKept = 2;
constexpr const char *kFiles[] = {"state.json", "model.safetensors",
                                  "optimizer.safetensors"};

// A path built without allocation. open() limits the length of --out, so that
// nothing is cut.
class PathText {
public:
  PathText(const char *directory, const char *name) {
    append(directory);
    append("/");
    append(name);
  }

  PathText(const char *directory, int64_t step, const char *suffix) {
    char name[64];
    snprintf(name, sizeof(name), "step-%06lld%s", static_cast<long long>(step),
             suffix);
    append(directory);
    append("/");
    append(name);
  }

  const char *text() const { return buffer; }

private:
  void append(const char *part) {
    size_t room = sizeof(buffer) - 1 - length;
    size_t size = strnlen(part, room);
    memcpy(buffer + length, part, size);
    length += size;
    buffer[length] = '\0';
  }

  char buffer[PATH_MAX + 128];
  size_t length = 0;
};

// Removes a checkpoint folder with the files that this program writes, nothing
// else.
void removeFolder(const char *folder) {
  for (const char *file : kFiles)
    unlink(PathText(folder, file).text());
  rmdir(folder);
}

// A save that was cut off leaves step-N.tmp or step-N.trash.
void removeLeftovers(const std::string &directory) {
  DIR *folder = opendir(directory.c_str());
  if (!folder)
    return;
  while (const dirent *entry = readdir(folder)) {
    std::string name = entry->d_name;
    if (name.substr(0, 5) == "step-" &&
        (endsWith(name, ".tmp") || endsWith(name, ".trash")))
      removeFolder((directory + "/" + name).c_str());
  }
  closedir(folder);
}

bool isSameFolder(const std::string &a, const std::string &b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool contains(const std::vector<int64_t> &values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The checkpoints in the folder that this run continues, or why it must not
// write there.
Result<std::vector<int64_t>> ownCheckpoints(const std::string &directory,
                                            const FoundCheckpoint *resumed) {
  std::vector<int64_t> kept;
  for (int64_t step : listCheckpoints(directory)) {
    if (resumed && contains(resumed->skipped, step))
      continue;
    if (!resumed || !isSameFolder(directory, directoryOf(resumed->path)) ||
        step > resumed->state.step)
      return failure(ECH_EXIT_USAGE,
                     "--out '%s' already holds '%s', which this run does not "
                     "continue: pass --resume '%s', or choose another folder",
                     directory.c_str(),
                     fileNameOf(checkpointPath(directory, step)).c_str(),
                     directory.c_str());
    kept.push_back(step);
  }
  return kept;
}

void addVariables(SafetensorsWriter &writer, const Session &session,
                  int arena) {
  for (uint32_t i = 0; i < session.program.variable_count; ++i) {
    const ech_variable &variable = session.program.variables[i];
    if (variable.arena == arena)
      writer.add(variable.name, variable.dtype, variable.shape, variable.rank,
                 session.device.at<void>(arena, variable.offset),
                 variable.bytes);
  }
  writer.finish();
}

} // namespace

std::string checkpointPath(const std::string &directory, int64_t step) {
  return PathText(directory.c_str(), step, "").text();
}

Status CheckpointWriter::open(const Session &session,
                              const FoundCheckpoint *resumed) {
  if (session.options.out.empty())
    return {};
  directory = session.options.out;
  while (directory.size() > 1 && directory.back() == '/')
    directory.pop_back();
  if (directory.size() > PATH_MAX - 128)
    return failure(ECH_EXIT_USAGE, "--out has more than %d characters",
                   PATH_MAX - 128);
  ECH_RETURN_IF_FAILED(createDirectories(directory));
  removeLeftovers(directory);
  Result<std::vector<int64_t>> own = ownCheckpoints(directory, resumed);
  if (!own.isOk())
    return own.status();
  kept = std::move(own.value());
  kept.reserve(kept.size() + kKept + 1);
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    return systemFailure(ECH_EXIT_DISK, "cannot write to folder",
                         directory.c_str(), errno);
  planHash = session.program.plan_hash;
  dataFingerprint = session.dataFingerprint;
  stateText.reserve(1024);
  addVariables(model, session, ECH_ARENA_PARAMETERS);
  addVariables(optimizer, session, ECH_ARENA_OPTIMIZER);
  return {};
}

Status CheckpointWriter::save(const RunState &state) {
  if (!isOn() || contains(kept, state.step))
    return {};
  PathText folder(directory.c_str(), state.step, ".tmp");
  if (mkdir(folder.text(), 0755) != 0 && errno != EEXIST)
    return systemFailure(ECH_EXIT_DISK, "cannot create folder", folder.text(),
                         errno);
  Status status = writeFiles(folder.text(), state);
  if (status.isOk())
    status = publish(folder.text(), state.step);
  if (!status.isOk()) {
    removeFolder(folder.text());
    return status;
  }
  kept.push_back(state.step);
  retain();
  return {};
}

Status CheckpointWriter::writeFiles(const char *folder, const RunState &state) {
  SafetensorsWriter::Written modelFile, optimizerFile;
  ECH_RETURN_IF_FAILED(
      model.write(PathText(folder, kFiles[1]).text(), modelFile));
  ECH_RETURN_IF_FAILED(
      optimizer.write(PathText(folder, kFiles[2]).text(), optimizerFile));
  stateText.clear();
  JsonWriter json(stateText);
  auto whole = [&](const char *key, uint64_t value) {
    json.key(key);
    json.unsignedInteger(value);
  };
  auto hash = [&](const char *key, uint64_t value) {
    json.key(key);
    json.hexadecimal(value);
  };
  json.beginObject();
  whole("format", 1);
  whole("abi", ECH_ABI_VERSION);
  json.key("plan_hash");
  json.text(planHash);
  whole("step", static_cast<uint64_t>(state.step));
  whole("seed", state.seed);
  whole("samples", state.samples);
  whole("tokens", state.tokens);
  hash("data_fingerprint", dataFingerprint);
  whole("model_bytes", modelFile.bytes);
  hash("model_xxh64", modelFile.hash);
  whole("optimizer_bytes", optimizerFile.bytes);
  hash("optimizer_xxh64", optimizerFile.hash);
  json.endObject();
  stateText += '\n';
  PathText path(folder, kFiles[0]);
  FileWriter file;
  ECH_RETURN_IF_FAILED(file.open(path.text()));
  ECH_RETURN_IF_FAILED(file.write(stateText.data(), stateText.size()));
  ECH_RETURN_IF_FAILED(file.syncAndClose());
  return syncDirectory(folder);
}

Status CheckpointWriter::publish(const char *folder, int64_t step) {
  PathText target(directory.c_str(), step, "");
  PathText trash(directory.c_str(), step, ".trash");
  // Only a damaged checkpoint can stand here: complete ones are in `kept`.
  if (rename(target.text(), trash.text()) == 0)
    removeFolder(trash.text());
  if (rename(folder, target.text()) != 0)
    return systemFailure(ECH_EXIT_DISK, "cannot rename to", target.text(),
                         errno);
  ECH_RETURN_IF_FAILED(syncDirectory(directory.c_str()));
  PathText link(directory.c_str(), "latest");
  PathText newLink(directory.c_str(), "latest.tmp");
  char name[32];
  snprintf(name, sizeof(name), "step-%06lld", static_cast<long long>(step));
  unlink(newLink.text());
  if (symlink(name, newLink.text()) != 0 ||
      rename(newLink.text(), link.text()) != 0)
    return systemFailure(ECH_EXIT_DISK, "cannot link", link.text(), errno);
  return syncDirectory(directory.c_str());
}

void CheckpointWriter::retain() {
  while (kept.size() > kKept) {
    PathText old(directory.c_str(), kept.front(), "");
    PathText trash(directory.c_str(), kept.front(), ".trash");
    // A half removed checkpoint must not stand under a valid name.
    if (rename(old.text(), trash.text()) == 0)
      removeFolder(trash.text());
    kept.erase(kept.begin());
  }
}

} // namespace echelon::runtime
