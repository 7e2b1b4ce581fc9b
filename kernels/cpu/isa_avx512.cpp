// SPDX-License-Identifier: Apache-2.0
//
// The kernels' inner parts, compiled for AVX-512.
#include "kernels/cpu/isa_table.h"

const echelon::kernels::Isa echelon::kernels::kAvx512 = ECH_ISA_TABLE("avx512");
