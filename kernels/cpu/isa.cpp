// SPDX-License-Identifier: Apache-2.0
//
// The choice of an instruction-set level, and the end of a call that breaks its
// contract.
#include "kernels/cpu/isa.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

namespace echelon::kernels {

static bool hasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool hasAvx512() {
  return hasAvx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

bool isSupported(const Isa &isa) {
  return &isa == &kAvx512 ? hasAvx512() : hasAvx2();
}

const Isa &currentIsa() {
  if (hasAvx512())
    return kAvx512;
  if (!hasAvx2())
    fail("kernels", "this processor lacks AVX2 and FMA, which the CPU kernels "
                    "need; run on an x86-64-v3 processor or newer");
  return kAvx2;
}

void fail(const char *kernel, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "error: %s: ", kernel);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}

} // namespace echelon::kernels
