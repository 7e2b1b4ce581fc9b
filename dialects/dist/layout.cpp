// SPDX-License-Identifier: Apache-2.0
//
// Meshes, shardings, local shapes.
#include "dialects/dist/layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace echelon {

static Error layoutError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

int64_t Mesh::devices() const {
  int64_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.size;
  return count;
}

int Mesh::indexOf(StringRef name) const {
  for (auto [index, axis] : enumerate(axes))
    if (axis.name == name)
      return index;
  return -1;
}

SmallVector<int64_t, 4> Mesh::coordinates(int64_t device) const {
  SmallVector<int64_t, 4> position(axes.size());
  for (int i = int(axes.size()) - 1; i >= 0; --i) {
    position[i] = device % axes[i].size;
    device /= axes[i].size;
  }
  return position;
}

Sharding Sharding::replicated(unsigned rank) {
  Sharding sharding;
  sharding.dims.resize(rank);
  return sharding;
}

bool Sharding::isReplicated() const {
  return partial.empty() && all_of(dims, [](const auto &axes) { return axes.empty(); });
}

Error checkSharding(const Mesh &mesh, const Sharding &sharding, ArrayRef<int64_t> shape) {
  if (sharding.dims.size() != shape.size())
    return layoutError("sharding has " + Twine(sharding.dims.size()) + " dims, tensor has " + Twine(shape.size()));
  SmallVector<bool> used(mesh.axes.size(), false);
  auto use = [&](unsigned axis) -> Error {
    if (axis >= mesh.axes.size())
      return layoutError("sharding uses axis " + Twine(axis) + " of a mesh with " + Twine(mesh.axes.size()));
    if (used[axis])
      return layoutError("axis '" + mesh.axes[axis].name + "' is used twice");
    used[axis] = true;
    return Error::success();
  };
  for (auto [index, axes] : enumerate(sharding.dims)) {
    int64_t parts = 1;
    for (unsigned axis : axes) {
      if (Error error = use(axis))
        return error;
      parts *= mesh.axes[axis].size;
    }
    if (shape[index] % parts)
      return layoutError("dim " + Twine(index) + " has " + Twine(shape[index]) + " elements, not a multiple of " +
                         Twine(parts));
  }
  for (unsigned axis : sharding.partial)
    if (Error error = use(axis))
      return error;
  return Error::success();
}

static int64_t partsOf(const Mesh &mesh, ArrayRef<unsigned> axes) {
  int64_t parts = 1;
  for (unsigned axis : axes)
    parts *= mesh.axes[axis].size;
  return parts;
}

SmallVector<int64_t, 6> localShape(const Mesh &mesh, const Sharding &sharding, ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> local;
  for (auto [size, axes] : zip_equal(shape, sharding.dims))
    local.push_back(size / partsOf(mesh, axes));
  return local;
}

SmallVector<int64_t, 6> localOffset(const Mesh &mesh, const Sharding &sharding, ArrayRef<int64_t> shape,
                                    int64_t device) {
  SmallVector<int64_t, 4> position = mesh.coordinates(device);
  SmallVector<int64_t, 6> offset;
  for (auto [size, axes] : zip_equal(shape, sharding.dims)) {
    int64_t piece = 0;
    for (unsigned axis : axes)
      piece = piece * mesh.axes[axis].size + position[axis];
    offset.push_back(piece * (size / partsOf(mesh, axes)));
  }
  return offset;
}

} // namespace echelon
