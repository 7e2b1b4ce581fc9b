// SPDX-License-Identifier: Apache-2.0
//
// Where the elements of a tensor lie: a mesh of named axes, the sharding of a tensor over it, and the local shape
// that one device holds. Free of IR.
#ifndef ECHELON_DIALECTS_DIST_LAYOUT_H
#define ECHELON_DIALECTS_DIST_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace echelon {

/// Named axes over devices, outermost first; device index is row-major over the axes.
struct Mesh {
  struct Axis {
    std::string name;
    int64_t size;
  };
  llvm::SmallVector<Axis, 4> axes;

  int64_t devices() const;
  /// Index of a named axis, or -1.
  int indexOf(llvm::StringRef name) const;
  /// Position of a device along each axis.
  llvm::SmallVector<int64_t, 4> coordinates(int64_t device) const;
};

/// For each dim the mesh axes that split it, outermost first, and the axes over which the value is an unreduced
/// partial sum. An axis stands at most once in all of it.
struct Sharding {
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 4> dims;
  llvm::SmallVector<unsigned, 2> partial;

  static Sharding replicated(unsigned rank);
  bool isReplicated() const;
  bool operator==(const Sharding &other) const { return dims == other.dims && partial == other.partial; }
};

/// Errors: rank mismatch, unknown axis, an axis used twice, a dim that its axes do not divide.
llvm::Error checkSharding(const Mesh &mesh, const Sharding &sharding, llvm::ArrayRef<int64_t> shape);

/// The shape of each device's piece of a checked sharding.
llvm::SmallVector<int64_t, 6> localShape(const Mesh &mesh, const Sharding &sharding, llvm::ArrayRef<int64_t> shape);

/// Where the piece of `device` starts in the whole tensor, in elements of each dim.
llvm::SmallVector<int64_t, 6> localOffset(const Mesh &mesh, const Sharding &sharding, llvm::ArrayRef<int64_t> shape,
                                          int64_t device);

} // namespace echelon

#endif
