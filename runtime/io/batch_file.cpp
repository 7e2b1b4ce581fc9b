// SPDX-License-Identifier: Apache-2.0
//
// Explicit batches, checked whole before the first step.
#include "runtime/io/batch_file.h"

#include "runtime/base/suggest.h"
#include "runtime/base/text.h"
#include "runtime/io/input_check.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace echelon::runtime {

namespace {

// A file cannot claim more steps than it has tensors; this bounds the table
// before that check.
constexpr uint64_t kMaximumSteps = uint64_t{1} << 32;

Status shapeFailure(const TensorView &tensor, const ech_input &input) {
  std::string found, expected;
  appendShape(found, tensor.shape.data(),
              static_cast<int64_t>(tensor.shape.size()));
  appendShape(expected, input.shape, input.rank);
  return failure(ECH_EXIT_INPUT,
                 "batch tensor '%s' has shape %s, but input '%s' of one "
                 "microbatch has %s: only the leading dim may differ",
                 tensor.name.c_str(), found.c_str(), input.name,
                 expected.c_str());
}

// Splits "<step>.<input>"; false if there is no such step.
bool splitName(std::string_view name, uint64_t &step, std::string_view &input) {
  size_t dot = name.find('.');
  if (dot == std::string_view::npos ||
      !parseUnsigned(name.substr(0, dot), step))
    return false;
  if (dot > 1 && name[0] == '0')
    return false;
  input = name.substr(dot + 1);
  return step < kMaximumSteps;
}

} // namespace

Result<BatchFile> BatchFile::open(const std::string &path,
                                  const ech_program &program, int64_t steps,
                                  int64_t accumulate) {
  BatchFile batches;
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file.isOk())
    return file.status();
  batches.tensors = std::move(file.value());
  ECH_RETURN_IF_FAILED(batches.bindTensors(program));
  ECH_RETURN_IF_FAILED(batches.checkComplete(program, steps));
  if (accumulate && accumulate != batches.accumulateCount)
    return failure(
        ECH_EXIT_USAGE,
        "--accumulate %lld, but the batches of '%s' have %lld rows, "
        "which is %lld microbatches of %lld",
        static_cast<long long>(accumulate), path.c_str(),
        static_cast<long long>(batches.accumulateCount * program.micro),
        static_cast<long long>(batches.accumulateCount),
        static_cast<long long>(program.micro));
  ECH_RETURN_IF_FAILED(batches.checkValues(program));
  return batches;
}

Status BatchFile::bindTensors(const ech_program &program) {
  if (program.input_count == 0)
    return failure(ECH_EXIT_INPUT, "the program has no inputs to fill");
  // Steps are contiguous, so a whole file has tensors / inputs of them.
  stepCount = static_cast<int64_t>(
      (tensors.tensors().size() + program.input_count - 1) /
      program.input_count);
  sources.resize(static_cast<size_t>(stepCount) * program.input_count);
  for (const TensorView &tensor : tensors.tensors())
    ECH_RETURN_IF_FAILED(bindTensor(program, tensor));
  return {};
}

Status BatchFile::bindTensor(const ech_program &program,
                             const TensorView &tensor) {
  uint64_t step = 0;
  std::string_view name;
  if (!splitName(tensor.name, step, name))
    return failure(ECH_EXIT_INPUT,
                   "batch tensor '%s' is not named <step>.<input>",
                   tensor.name.c_str());
  std::vector<std::string_view> known;
  uint32_t index = program.input_count;
  for (uint32_t i = 0; i < program.input_count; ++i) {
    known.push_back(program.inputs[i].name);
    if (name == program.inputs[i].name)
      index = i;
  }
  if (index == program.input_count)
    return failure(ECH_EXIT_INPUT,
                   "batch tensor '%s' names no input of the program%s",
                   tensor.name.c_str(), suggestion(name, known).c_str());
  const ech_input &input = program.inputs[index];
  ECH_RETURN_IF_FAILED(checkTensor(program, input, tensor));
  bool widen = tensor.dtype != safetensorsName(input.dtype);
  // A step beyond the table means that an earlier one is missing, which
  // checkComplete reports.
  if (step < static_cast<uint64_t>(stepCount))
    sources[step * program.input_count + index] = {tensor.data, widen};
  return {};
}

Status BatchFile::checkTensor(const ech_program &program,
                              const ech_input &input,
                              const TensorView &tensor) {
  bool same = tensor.dtype == safetensorsName(input.dtype);
  bool widen = (input.dtype == ECH_I64 && tensor.dtype == "I32") ||
               (input.dtype == ECH_F32 && tensor.dtype == "BF16");
  if (!same && !widen)
    return failure(ECH_EXIT_INPUT,
                   "batch tensor '%s' has dtype %s, input '%s' needs %s",
                   tensor.name.c_str(), tensor.dtype.c_str(), input.name,
                   safetensorsName(input.dtype));
  if (static_cast<int64_t>(tensor.shape.size()) != input.rank ||
      !std::equal(tensor.shape.begin() + 1, tensor.shape.end(),
                  input.shape + 1))
    return shapeFailure(tensor, input);
  int64_t rows = tensor.shape[0];
  if (rows == 0 || rows % program.micro != 0)
    return failure(ECH_EXIT_INPUT,
                   "batch tensor '%s' has %lld rows, which is no multiple of "
                   "the microbatch of %lld",
                   tensor.name.c_str(), static_cast<long long>(rows),
                   static_cast<long long>(program.micro));
  if (accumulateCount == 0)
    accumulateCount = rows / program.micro;
  if (rows != accumulateCount * program.micro)
    return failure(ECH_EXIT_INPUT,
                   "batch tensor '%s' has %lld rows, others have %lld",
                   tensor.name.c_str(), static_cast<long long>(rows),
                   static_cast<long long>(accumulateCount * program.micro));
  return {};
}

Status BatchFile::checkComplete(const ech_program &program, int64_t steps) {
  for (size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].data)
      return failure(ECH_EXIT_INPUT, "'%s' has no tensor '%zu.%s'",
                     tensors.file().path().c_str(), i / program.input_count,
                     program.inputs[i % program.input_count].name);
  if (stepCount == 0 || steps > stepCount)
    return failure(ECH_EXIT_INPUT,
                   "'%s' has batches for %lld steps, --steps asks for %lld",
                   tensors.file().path().c_str(),
                   static_cast<long long>(stepCount),
                   static_cast<long long>(steps));
  return {};
}

Status BatchFile::checkValues(const ech_program &program) const {
  for (uint32_t i = 0; i < program.input_count; ++i) {
    const ech_input &input = program.inputs[i];
    if (input.limit == 0)
      continue;
    int64_t count =
        static_cast<int64_t>(input.bytes / elementBytes(input.dtype));
    auto values = std::make_unique<int64_t[]>(static_cast<size_t>(count));
    for (int64_t step = 0; step < stepCount; ++step)
      for (int64_t j = 0; j < accumulateCount; ++j) {
        copyMicrobatch(
            input, sources[static_cast<size_t>(step) * program.input_count + i],
            j, values.get());
        ECH_RETURN_IF_FAILED(
            checkIndices(input, values.get(), count, step, j * count));
      }
  }
  return {};
}

void BatchFile::copyMicrobatch(const ech_input &input, const Source &source,
                               int64_t microbatch, void *target) {
  uint64_t sourceBytes = source.widen ? input.bytes / 2 : input.bytes;
  const uint8_t *data =
      source.data + static_cast<uint64_t>(microbatch) * sourceBytes;
  if (!source.widen) {
    memcpy(target, data, input.bytes);
    return;
  }
  uint64_t count = input.bytes / elementBytes(input.dtype);
  for (uint64_t i = 0; i < count; ++i) {
    if (input.dtype == ECH_I64) {
      int32_t narrow;
      memcpy(&narrow, data + 4 * i, 4);
      static_cast<int64_t *>(target)[i] = narrow;
    } else {
      // bf16 is the upper half of an f32.
      uint16_t narrow;
      memcpy(&narrow, data + 2 * i, 2);
      uint32_t bits = static_cast<uint32_t>(narrow) << 16;
      memcpy(static_cast<char *>(target) + 4 * i, &bits, 4);
    }
  }
}

void BatchFile::fill(const ech_program &program, void *inputsArena,
                     int64_t step, int64_t microbatch) const {
  for (uint32_t i = 0; i < program.input_count; ++i) {
    const ech_input &input = program.inputs[i];
    copyMicrobatch(input,
                   sources[static_cast<size_t>(step) * program.input_count + i],
                   microbatch, static_cast<char *>(inputsArena) + input.offset);
  }
}

} // namespace echelon::runtime
