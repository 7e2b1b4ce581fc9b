// SPDX-License-Identifier: Apache-2.0
//
// Explicit batches: a safetensors file with tensors `<step>.<input>`, steps 0
// to n - 1, whose leading dim is micro x accumulate. Everything is checked
// before the first step.
#ifndef ECHELON_RUNTIME_IO_BATCH_FILE_H
#define ECHELON_RUNTIME_IO_BATCH_FILE_H

#include "runtime/io/safetensors.h"

namespace echelon::runtime {

class BatchFile {
public:
  /// Maps `path` and checks all of it against the program: no unknown input,
  /// none missing, right dtypes (i32 may stand for i64, bf16 for f32), right
  /// shapes, one number of rows, a multiple of micro, and all indices in range.
  /// `steps` and `accumulate` are what the command line asks for, 0 if it does
  /// not. Errors carry ECH_EXIT_INPUT.
  static Result<BatchFile> open(const std::string &path,
                                const ech_program &program, int64_t steps,
                                int64_t accumulate);

  int64_t steps() const { return stepCount; }
  int64_t accumulate() const { return accumulateCount; }
  const MappedFile &file() const { return tensors.file(); }

  /// Copies microbatch `microbatch` of step `step` into the inputs.
  void fill(const ech_program &program, void *inputsArena, int64_t step,
            int64_t microbatch) const;

private:
  struct Source {
    const uint8_t *data = nullptr;
    bool widen =
        false; ///< half as wide as the input: i32 for i64, bf16 for f32
  };

  Status bindTensors(const ech_program &program);
  Status bindTensor(const ech_program &program, const TensorView &tensor);
  Status checkTensor(const ech_program &program, const ech_input &input,
                     const TensorView &tensor);
  Status checkComplete(const ech_program &program, int64_t steps);
  Status checkValues(const ech_program &program) const;
  static void copyMicrobatch(const ech_input &input, const Source &source,
                             int64_t microbatch, void *target);

  SafetensorsFile tensors;
  std::vector<Source> sources; ///< [step * input_count + input]
  int64_t stepCount = 0;
  int64_t accumulateCount = 0;
};

} // namespace echelon::runtime

#endif
