// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: DIR/step-000123/ with model.safetensors (parameters under their
// ONNX names), optimizer.safetensors (optimizer states) and state.json (where
// the training stands, and size and hash of the other two). A checkpoint is
// written as step-000123.tmp, synced, then renamed: under its final name it is
// always whole. `latest` is a symbolic link to the newest. The two newest are
// kept.
#ifndef ECHELON_RUNTIME_ENGINE_CHECKPOINT_H
#define ECHELON_RUNTIME_ENGINE_CHECKPOINT_H

#include "runtime/engine/session.h"

namespace echelon::runtime {

/// A checkpoint that was found complete.
struct FoundCheckpoint {
  std::string path;
  RunState state;
  uint64_t dataFingerprint = 0;
  std::string planHash;
  std::vector<int64_t> skipped; ///< newer ones in the folder that are damaged
};

/// Steps of the checkpoints in a folder, ascending; empty if the folder does
/// not exist.
std::vector<int64_t> listCheckpoints(const std::string &directory);

/// "DIR/step-000123".
std::string checkpointPath(const std::string &directory, int64_t step);

/// The newest complete checkpoint of `directory`, or `directory` itself if it
/// is one. Damaged ones are skipped with a note. ECH_EXIT_INPUT if there is
/// none.
Result<FoundCheckpoint> findCheckpoint(const std::string &directory);

/// Restores variables and state of the session. Fails if the checkpoint belongs
/// to another model (ECH_EXIT_INPUT), or to another seed or data
/// (ECH_EXIT_USAGE).
Status loadCheckpoint(Session &session, const FoundCheckpoint &found);

class CheckpointWriter {
public:
  /// Prepares --out; no-op if the session has none. Creates the folder, removes
  /// what an interrupted save left, and refuses (ECH_EXIT_USAGE) a folder with
  /// checkpoints that this run does not continue. `resumed` is null in a fresh
  /// run.
  Status open(const Session &session, const FoundCheckpoint *resumed);

  bool isOn() const { return !directory.empty(); }

  /// Writes a checkpoint of the state and removes those before the last two.
  /// Does nothing if this step is already there. On failure (ECH_EXIT_DISK) the
  /// earlier ones are untouched. Allocates nothing.
  Status save(const RunState &state);

private:
  Status writeFiles(const char *folder, const RunState &state);
  Status publish(const char *folder, int64_t step);
  void retain();

  std::string directory;
  std::string planHash;
  std::string stateText;
  uint64_t dataFingerprint = 0;
  SafetensorsWriter model;
  SafetensorsWriter optimizer;
  std::vector<int64_t> kept; ///< ascending
};

} // namespace echelon::runtime

#endif
