// SPDX-License-Identifier: Apache-2.0
//
// Meshes and shardings with hand-computed coordinates, shapes and offsets; the pieces of all devices tile the tensor.
#include "dialects/dist/layout.h"
#include <gtest/gtest.h>
#include <map>

using namespace echelon;

namespace {

using Coordinates = llvm::SmallVector<int64_t, 4>;
using Sizes = llvm::SmallVector<int64_t, 6>;

Mesh mesh234() { return Mesh{{{"a", 2}, {"b", 3}, {"c", 4}}}; }

std::string checkError(const Sharding &sharding, llvm::ArrayRef<int64_t> shape) {
  llvm::Error error = checkSharding(mesh234(), sharding, shape);
  return error ? llvm::toString(std::move(error)) : "fits";
}

TEST(Mesh, DevicesAreRowMajor) {
  Mesh mesh = mesh234();
  EXPECT_EQ(mesh.devices(), 24);
  // 17 = 1 x 12 + 1 x 4 + 1; 23 is the last of each axis.
  EXPECT_EQ(mesh.coordinates(17), (Coordinates{1, 1, 1}));
  EXPECT_EQ(mesh.coordinates(23), (Coordinates{1, 2, 3}));
  EXPECT_EQ(mesh.indexOf("b"), 1);
  EXPECT_EQ(mesh.indexOf("z"), -1);
  EXPECT_EQ(Mesh().devices(), 1);
}

TEST(Sharding, Replicated) {
  Sharding sharding = Sharding::replicated(2);
  EXPECT_TRUE(sharding.isReplicated());
  EXPECT_EQ(localShape(mesh234(), sharding, {6, 8}), (Sizes{6, 8}));
  EXPECT_EQ(localOffset(mesh234(), sharding, {6, 8}, 17), (Sizes{0, 0}));
  sharding.partial = {1};
  EXPECT_FALSE(sharding.isReplicated()) << "a partial sum is not the value";
}

TEST(Sharding, TwoAxesOnOneDim) {
  // Dim 0 over c then a: 8 pieces of 3; device 17 = (1, 1, 1) has piece 1 x 2 + 1 = 3. Dim 1 over b: 3 pieces of 2.
  Sharding sharding;
  sharding.dims = {{2, 0}, {1}};
  EXPECT_EQ(checkError(sharding, {24, 6}), "fits");
  EXPECT_EQ(localShape(mesh234(), sharding, {24, 6}), (Sizes{3, 2}));
  EXPECT_EQ(localOffset(mesh234(), sharding, {24, 6}, 17), (Sizes{9, 2}));
}

TEST(Sharding, ErrorsSayWhich) {
  Sharding sharding;
  sharding.dims = {{0}};
  EXPECT_EQ(checkError(sharding, {4, 4}), "sharding has 1 dims, tensor has 2");
  EXPECT_EQ(checkError(sharding, {5}), "dim 0 has 5 elements, not a multiple of 2");
  sharding.dims = {{7}};
  EXPECT_EQ(checkError(sharding, {4}), "sharding uses axis 7 of a mesh with 3");
  sharding.dims = {{0}, {0}};
  EXPECT_EQ(checkError(sharding, {4, 4}), "axis 'a' is used twice");
  sharding.dims = {{0}};
  sharding.partial = {0};
  EXPECT_EQ(checkError(sharding, {4}), "axis 'a' is used twice");
}

/// Every element has as many owners as the axes that do not split the tensor have positions.
TEST(Sharding, PiecesTileTheTensor) {
  Mesh mesh = mesh234();
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 8> choices = {{}, {0}, {1}, {2}, {0, 1}, {1, 0}, {2, 1}, {0, 2}};
  Sizes shape = {24, 24};
  int checked = 0;
  for (const auto &first : choices)
    for (const auto &second : choices) {
      Sharding sharding;
      sharding.dims = {first, second};
      if (llvm::Error error = checkSharding(mesh, sharding, shape)) {
        llvm::consumeError(std::move(error));
        continue;
      }
      ++checked;
      int64_t parts = 1;
      for (const auto &axes : sharding.dims)
        for (unsigned axis : axes)
          parts *= mesh.axes[axis].size;
      std::map<std::pair<int64_t, int64_t>, int64_t> owners;
      Sizes size = localShape(mesh, sharding, shape);
      for (int64_t device = 0; device < mesh.devices(); ++device) {
        Sizes offset = localOffset(mesh, sharding, shape, device);
        for (int64_t i = 0; i < size[0]; ++i)
          for (int64_t j = 0; j < size[1]; ++j)
            ++owners[{offset[0] + i, offset[1] + j}];
      }
      EXPECT_EQ(owners.size(), 24u * 24u);
      for (const auto &[place, count] : owners)
        ASSERT_EQ(count, mesh.devices() / parts) << place.first << ", " << place.second;
    }
  EXPECT_GT(checked, 20); // of 64 pairs, the others name an axis twice
}

} // namespace
