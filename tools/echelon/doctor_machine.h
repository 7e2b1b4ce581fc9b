// SPDX-License-Identifier: Apache-2.0
//
// Facts about the machine: cores and memory by quota, instruction set, measured
// peak of one core.
#ifndef ECHELON_TOOLS_ECHELON_DOCTOR_MACHINE_H
#define ECHELON_TOOLS_ECHELON_DOCTOR_MACHINE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace echelon {

struct MachineFacts {
  std::string cpu;         ///< as the kernel names it
  int64_t cores = 1;       ///< usable: affinity and quota
  int64_t onlineCores = 1; ///< of the whole machine
  int64_t memoryBytes = 0; ///< usable: the smaller of machine and cgroup limit
  std::string isa;         ///< "avx512f", "avx2", "neon", "baseline"
  int vectorBits = 0;      ///< of one register of that instruction set
  double peakFlopsF32 = 0; ///< of one core, 2 a multiply-add; 0: not measured
};

/// Usable cores under a cgroup v2 `cpu.max` text ("max 100000",
/// "150000 100000"): rounded down, at least 1; nullopt for no quota.
std::optional<int64_t> coresOfQuota(llvm::StringRef cpuMax);

/// Reads everything but the peak. `root` is prepended to /proc and /sys paths
/// and is "" except in tests.
MachineFacts readMachineFacts(llvm::StringRef root = "");

/// The best of several short runs of independent fused multiply-adds in the
/// widest registers, on the calling core (about 0.3 s). FLOP/s.
double measurePeakFlopsF32();

} // namespace echelon

#endif
