// SPDX-License-Identifier: Apache-2.0
//
// Token files as a source of samples.
#include "runtime/io/token_file.h"

#include "runtime/base/suggest.h"
#include "runtime/base/text.h"
#include "runtime/io/input_check.h"

#include <algorithm>
#include <cstring>

namespace echelon::runtime {

namespace {

Result<bool> isWide(const std::string &path, const std::string &dtype) {
  if (dtype == "uint32" || (dtype.empty() && endsWith(path, ".u32.bin")))
    return true;
  if (dtype.empty() || dtype == "uint16")
    return false;
  return failure(ECH_EXIT_USAGE, "unknown --token-dtype '%s'%s", dtype.c_str(),
                 suggestion(dtype, {"uint16", "uint32"}).c_str());
}

// The sequence length that all inputs agree on.
Result<uint64_t> sequenceOf(const ech_program &program) {
  int64_t sequence = 0;
  for (uint32_t i = 0; i < program.input_count; ++i) {
    const ech_input &input = program.inputs[i];
    if (input.role == ECH_ROLE_FEATURE)
      return failure(ECH_EXIT_INPUT,
                     "input '%s' cannot be filled from a token file: use "
                     "--batches with a safetensors file",
                     input.name);
    if ((input.dtype != ECH_I64 && input.dtype != ECH_I32) || input.rank != 2 ||
        input.shape[1] < 1 || (sequence && sequence != input.shape[1])) {
      std::string shape;
      appendShape(shape, input.shape, input.rank);
      return failure(ECH_EXIT_INPUT,
                     "input '%s' is %s %s, but a token file fills integer "
                     "inputs of one shape [batch, sequence]",
                     input.name, dtypeName(input.dtype), shape.c_str());
    }
    sequence = input.shape[1];
  }
  if (sequence == 0)
    return failure(ECH_EXIT_INPUT, "the program has no inputs to fill");
  return static_cast<uint64_t>(sequence);
}

} // namespace

Result<TokenFile> TokenFile::open(const std::string &path,
                                  const std::string &dtype,
                                  const ech_program &program) {
  TokenFile file;
  Result<bool> wide = isWide(path, dtype);
  if (!wide.isOk())
    return wide.status();
  Result<uint64_t> sequence = sequenceOf(program);
  if (!sequence.isOk())
    return sequence.status();
  Result<MappedFile> mapping = MappedFile::open(path);
  if (!mapping.isOk())
    return mapping.status();
  file.mapped = std::move(mapping.value());
  file.wide = wide.value();
  file.sequenceLength = sequence.value();
  uint64_t width = file.wide ? 4 : 2, size = file.mapped.size();
  if (size == 0)
    return failure(ECH_EXIT_INPUT, "token file '%s' is empty", path.c_str());
  if (size % width != 0)
    return failure(
        ECH_EXIT_INPUT,
        "token file '%s' has %llu bytes, which is no whole number of "
        "%s tokens: truncated, or of another --token-dtype",
        path.c_str(), static_cast<unsigned long long>(size), file.dtypeText());
  file.tokenCount = size / width;
  if (file.tokenCount < file.sequenceLength + 1)
    return failure(ECH_EXIT_INPUT,
                   "token file '%s' has %llu tokens, one sample needs %llu "
                   "(sequence %llu + 1)",
                   path.c_str(),
                   static_cast<unsigned long long>(file.tokenCount),
                   static_cast<unsigned long long>(file.sequenceLength + 1),
                   static_cast<unsigned long long>(file.sequenceLength));
  return file;
}

uint32_t TokenFile::token(uint64_t index) const {
  if (wide) {
    uint32_t value;
    memcpy(&value, mapped.data() + 4 * index, 4);
    return value;
  }
  uint16_t value;
  memcpy(&value, mapped.data() + 2 * index, 2);
  return value;
}

Status TokenFile::fillRow(const ech_program &program, void *inputsArena,
                          int64_t row, uint64_t sample, int64_t step) const {
  int64_t length = static_cast<int64_t>(sequenceLength);
  for (uint32_t i = 0; i < program.input_count; ++i) {
    const ech_input &input = program.inputs[i];
    uint64_t first =
        sample * sequenceLength + (input.role == ECH_ROLE_LABELS ? 1 : 0);
    char *base = static_cast<char *>(inputsArena) + input.offset;
    void *values =
        base + static_cast<uint64_t>(row * length) * elementBytes(input.dtype);
    for (int64_t j = 0; j < length; ++j) {
      uint32_t value = token(first + static_cast<uint64_t>(j));
      if (input.dtype == ECH_I64)
        static_cast<int64_t *>(values)[j] = value;
      else
        // A wide id must not wrap to a negative one, which would be a legal
        // index.
        static_cast<int32_t *>(values)[j] =
            static_cast<int32_t>(std::min<uint32_t>(value, INT32_MAX));
    }
    Status status = checkIndices(input, values, length, step, row * length);
    if (!status.isOk()) {
      appendFormat(status.message, ", from sample %llu of '%s'",
                   static_cast<unsigned long long>(sample),
                   mapped.path().c_str());
      return status;
    }
  }
  return {};
}

} // namespace echelon::runtime
