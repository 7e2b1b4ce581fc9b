// SPDX-License-Identifier: Apache-2.0
//
// The check of the exported program.
#include "runtime/engine/program_check.h"

#include "runtime/io/input_check.h"

namespace echelon::runtime {

namespace {

Status mismatch(const char *kind, const char *name, const char *reason) {
  return failure(ECH_EXIT_INTERNAL,
                 "the program's %s '%s' %s: compiler and runtime disagree, "
                 "compile again",
                 kind, name, reason);
}

bool isInside(const ech_program &program, int arena, uint64_t offset,
              uint64_t bytes) {
  uint64_t end = 0;
  return !__builtin_add_overflow(offset, bytes, &end) &&
         end <= program.arenas[arena].bytes;
}

const char *checkTensor(const ech_program &program, int arena, int dtype,
                        const int64_t *shape, int64_t rank, uint64_t offset,
                        uint64_t bytes) {
  uint64_t count = 0;
  if (dtype < ECH_F32 || dtype > ECH_BOOL)
    return "has an unknown dtype";
  if (!elementCount(shape, rank, count) ||
      __builtin_mul_overflow(count, elementBytes(dtype), &count) ||
      count != bytes)
    return "has bytes that differ from its shape";
  if (!isInside(program, arena, offset, bytes))
    return "lies outside of its arena";
  if (offset % elementBytes(dtype) != 0)
    return "is not aligned";
  return nullptr;
}

Status checkVariable(const ech_program &program, const ech_variable &variable) {
  if (variable.arena < ECH_ARENA_PARAMETERS ||
      variable.arena > ECH_ARENA_METRICS)
    return mismatch("variable", variable.name, "has an unknown arena");
  if (const char *reason =
          checkTensor(program, variable.arena, variable.dtype, variable.shape,
                      variable.rank, variable.offset, variable.bytes))
    return mismatch("variable", variable.name, reason);
  if (variable.arena == ECH_ARENA_PARAMETERS && variable.dtype != ECH_F32)
    return mismatch("parameter", variable.name, "is not f32");
  if (variable.init < ECH_INIT_FILE || variable.init > ECH_INIT_UNIFORM)
    return mismatch("variable", variable.name, "has an unknown initialiser");
  bool fromFile = variable.init == ECH_INIT_FILE;
  if (fromFile &&
      (variable.file_index < 0 ||
       static_cast<uint32_t>(variable.file_index) >= program.weight_file_count))
    return mismatch("variable", variable.name, "names no weights file");
  if (fromFile &&
      (((variable.file_dtype < ECH_F32 || variable.file_dtype > ECH_F64) &&
        variable.file_dtype != ECH_F16) ||
       variable.file_bytes !=
           variable.bytes / 4 * elementBytes(variable.file_dtype)))
    return mismatch("variable", variable.name, "has wrong bytes in its file");
  if (variable.owner >= 0 &&
      static_cast<uint32_t>(variable.owner) >= program.variable_count)
    return mismatch("variable", variable.name, "has an unknown owner");
  if (variable.arena == ECH_ARENA_GRADIENTS &&
      (variable.owner < 0 || variable.dtype != ECH_F32))
    return mismatch("gradient", variable.name, "is not f32 with an owner");
  return {};
}

Status checkInput(const ech_program &program, const ech_input &input) {
  if (input.rank < 1 || input.shape[0] != program.micro)
    return mismatch("input", input.name, "does not start with the batch");
  if (const char *reason =
          checkTensor(program, ECH_ARENA_INPUTS, input.dtype, input.shape,
                      input.rank, input.offset, input.bytes))
    return mismatch("input", input.name, reason);
  return {};
}

} // namespace

bool elementCount(const int64_t *shape, int64_t rank, uint64_t &count) {
  count = 1;
  for (int64_t i = 0; i < rank; ++i)
    if (shape[i] < 0 ||
        __builtin_mul_overflow(count, static_cast<uint64_t>(shape[i]), &count))
      return false;
  return true;
}

Status checkProgram(const ech_program &program) {
  if (program.abi_version != ECH_ABI_VERSION ||
      program.struct_bytes != sizeof(ech_program))
    return failure(ECH_EXIT_INTERNAL,
                   "the program was compiled for contract %u (%u bytes), this "
                   "runtime has contract %u (%zu bytes): compile again",
                   program.abi_version, program.struct_bytes, ECH_ABI_VERSION,
                   sizeof(ech_program));
  if (program.world_size != 1)
    return failure(ECH_EXIT_USAGE,
                   "the program was compiled for %u ranks, this is one process",
                   program.world_size);
  if (program.micro < 1 || program.accumulate < 1 || !program.microbatch ||
      !program.update)
    return mismatch("entry", "microbatch", "is missing");
  for (uint32_t i = 0; i < program.variable_count; ++i)
    ECH_RETURN_IF_FAILED(checkVariable(program, program.variables[i]));
  for (uint32_t i = 0; i < program.input_count; ++i)
    ECH_RETURN_IF_FAILED(checkInput(program, program.inputs[i]));
  for (uint64_t offset :
       {program.metric_loss_sum, program.metric_loss_count,
        program.metric_gradient_square_sum, program.metric_learning_rate})
    if (!isInside(program, ECH_ARENA_METRICS, offset, 4) || offset % 4 != 0)
      return mismatch("metric", "loss", "lies outside of its arena");
  return {};
}

} // namespace echelon::runtime
