// SPDX-License-Identifier: Apache-2.0
//
// The table of one instruction-set level: included by isa_avx2.cpp and
// isa_avx512.cpp only.
#ifndef ECHELON_KERNELS_CPU_ISA_TABLE_H
#define ECHELON_KERNELS_CPU_ISA_TABLE_H

#include "kernels/cpu/attention_grad_tiles.h"
#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/contraction_tiles.h"
#include "kernels/cpu/loss_rows.h"

#define ECH_ISA_TABLE(name)                                                    \
  {name,                                                                       \
   echelon::kernels::ECH_ISA::contractRegion,                                  \
   echelon::kernels::ECH_ISA::attendBlock,                                     \
   echelon::kernels::ECH_ISA::attendGradGroup,                                 \
   echelon::kernels::ECH_ISA::logSumExp,                                       \
   echelon::kernels::ECH_ISA::softmaxGrad,                                     \
   echelon::kernels::ECH_ISA::attentionBytes}

#endif
