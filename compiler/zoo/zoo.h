// SPDX-License-Identifier: Apache-2.0
//
// Writing model files of any size: GPT-2 and Llama shaped decoders as standard
// ONNX (opset 17, IR 8) with one input `input_ids[batch, seq]` (int64, batch
// symbolic) and one output `logits[batch, seq, vocab]`. Parameters are the
// graph's initializers under the names and layouts of the families' usual
// PyTorch modules; everything else is Constant nodes.
// docs/reference/zoo.md describes the files.
#ifndef ECHELON_COMPILER_ZOO_ZOO_H
#define ECHELON_COMPILER_ZOO_ZOO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace echelon {

struct ZooOptions {
  enum class Family { Gpt, Llama };

  Family family = Family::Gpt;
  int64_t layers = 12;
  int64_t hidden = 768;
  int64_t heads = 12;
  int64_t kvHeads = 0; ///< 0: as many as heads; llama only
  int64_t ffn =
      0; ///< 0: 4 x hidden (gpt), 8/3 x hidden rounded up to 64 (llama)
  int64_t vocab = 50257;
  int64_t seq = 1024; ///< rows of the position table and of the rotary tables
  double dropout = 0; ///< in [0, 1); above 0 the graph holds Dropout nodes
  bool tie = false;   ///< the output projection is the embedding table
  bool symbolicSeq = false; ///< dim 1 of the input is the symbol `seq`
  bool withWeights =
      true; ///< false: parameters are declared with an init rule only
  int64_t seed = 0;
};

/// The options with their zeros filled in, or what is wrong with them (one line
/// for each fault, naming the flag, both values and the rule).
llvm::Expected<ZooOptions> resolveZooOptions(const ZooOptions &options);

/// Number of parameter elements, without making the model.
int64_t countZooParameters(const ZooOptions &resolved);

/// What was written.
struct ZooSummary {
  int64_t parameters = 0; ///< elements
  int64_t tensors = 0;
  int64_t nodes = 0;
  int64_t fileBytes = 0; ///< of the model file
  int64_t dataBytes = 0; ///< of `<path>.data`; 0: no such file
};

/// Writes the model to `path`, and its weights to `<path>.data` when they
/// exceed `inlineLimitBytes`. Both files appear whole or not at all (written
/// under a temporary name beside the target, then renamed). Equal options give
/// equal bytes. Errors of the file system carry their errno as std::error_code.
llvm::Expected<ZooSummary> writeZooModel(const ZooOptions &options,
                                         llvm::StringRef path,
                                         int64_t inlineLimitBytes = 1500000000);

} // namespace echelon

#endif
