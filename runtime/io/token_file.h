// SPDX-License-Identifier: Apache-2.0
//
// Token files: a headerless stream of little-endian uint16 or uint32 token ids
// (the format of nanoGPT's .bin files), mapped into memory. The dtype is what
// --token-dtype says, else what the name says (`.u16.bin`, `.u32.bin`), else
// uint16. Sample i is the window of sequence + 1 tokens that starts at token i
// * sequence; neighbours share one token, which is the last label of the one
// and the first input of the other.
#ifndef ECHELON_RUNTIME_IO_TOKEN_FILE_H
#define ECHELON_RUNTIME_IO_TOKEN_FILE_H

#include "runtime/base/file.h"

#include <string>

namespace echelon::runtime {

class TokenFile {
public:
  /// Maps `path` and checks it against the program's inputs: each must be
  /// filled by tokens or labels and have the shape [micro, sequence]. `dtype`
  /// is "uint16", "uint32" or empty. Errors: ECH_EXIT_INPUT for an empty,
  /// odd-sized or too short file and for a program with other inputs.
  static Result<TokenFile> open(const std::string &path,
                                const std::string &dtype,
                                const ech_program &program);

  uint64_t tokens() const { return tokenCount; }
  uint64_t samples() const { return (tokenCount - 1) / sequenceLength; }
  uint64_t sequence() const { return sequenceLength; }
  const char *dtypeText() const { return wide ? "uint32" : "uint16"; }
  const MappedFile &file() const { return mapped; }

  /// Writes sample `sample` < samples() into row `row` of each input in
  /// `inputsArena`. Fails as checkIndices does; the position is counted within
  /// the microbatch.
  Status fillRow(const ech_program &program, void *inputsArena, int64_t row,
                 uint64_t sample, int64_t step) const;

private:
  uint32_t token(uint64_t index) const;

  MappedFile mapped;
  uint64_t tokenCount = 0;
  uint64_t sequenceLength = 1;
  bool wide = false;
};

} // namespace echelon::runtime

#endif
