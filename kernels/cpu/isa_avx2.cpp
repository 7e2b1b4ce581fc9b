// SPDX-License-Identifier: Apache-2.0
//
// The kernels' inner parts, compiled for AVX2 with FMA.
#include "kernels/cpu/isa_table.h"

const echelon::kernels::Isa echelon::kernels::kAvx2 = ECH_ISA_TABLE("avx2");
