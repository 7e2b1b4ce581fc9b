// SPDX-License-Identifier: Apache-2.0
//
// First values of all variables: constants and random values, or bytes of the
// weights files that the program names, each checked against its content hash;
// or, with --weights, another place of those files or a safetensors file read
// by names.
#ifndef ECHELON_RUNTIME_ENGINE_WEIGHTS_H
#define ECHELON_RUNTIME_ENGINE_WEIGHTS_H

#include "runtime/device/cpu_device.h"
#include "runtime/io/safetensors.h"

namespace echelon::runtime {

/// Initialises every variable of a fresh run. `weights` is the value of
/// --weights or empty. Errors carry ECH_EXIT_INPUT and name tensor and file.
Status initializeVariables(const ech_program &program, CpuDevice &device,
                           const std::string &weights, uint64_t seed);

/// Fills each variable of one arena class from the tensor of its name in
/// `file`: all must be there with their shape, in F32, F64 or BF16 for f32
/// variables, else in the variable's dtype. Tensors without a variable are an
/// error if `strict`, else counted in `extra`.
Status readVariables(const ech_program &program, const CpuDevice &device,
                     int arena, const SafetensorsFile &file, bool strict,
                     size_t &extra);

/// Converts `count` elements of `dtype` (F32, F64 or BF16; unaligned) to f32.
void convertToF32(const uint8_t *source, int dtype, uint64_t count,
                  float *target);

} // namespace echelon::runtime

#endif
