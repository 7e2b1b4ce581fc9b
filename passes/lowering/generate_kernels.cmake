# SPDX-License-Identifier: Apache-2.0
set(LLVM_TARGET_DEFINITIONS generate_kernels.td)
mlir_tablegen(generate_kernels.h.inc -gen-pass-decls -name=GenerateKernels)
add_public_tablegen_target(EchelonGenerateKernelsGen)

echelon_library(EchelonGenerateKernels
  generate_kernels.cpp
  generate_kernels_buffers.cpp
  generate_kernels_emit.cpp
  generate_kernels_entry.cpp
  generate_kernels_math.cpp
  generate_kernels_plan.cpp
  generate_kernels_points.cpp
  generate_kernels_scalar.cpp
  DEPENDS EchelonGenerateKernelsGen
  LINK EchelonGraph EchelonExec MLIR LLVM
)
