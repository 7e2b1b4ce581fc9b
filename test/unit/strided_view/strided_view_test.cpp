// SPDX-License-Identifier: Apache-2.0
//
// Strided views by hand-computed strides, and chains of random views against elements moved one by one.
#include "dialects/graph/strided_view.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace echelon;

namespace {

using Strides = llvm::SmallVector<int64_t, 6>;

TEST(StridedView, DenseIsRowMajor) {
  StridedView view = StridedView::dense({2, 3, 4});
  EXPECT_EQ(view.strides, (Strides{12, 4, 1}));
  EXPECT_TRUE(view.isDense());
  EXPECT_TRUE(StridedView::dense({}).isDense());
}

TEST(StridedView, DenseIgnoresStridesOfOneElement) {
  StridedView view = StridedView::dense({2, 1, 4});
  view.strides[1] = 99;
  EXPECT_TRUE(view.isDense());
  view.strides[0] = 5;
  EXPECT_FALSE(view.isDense());
}

TEST(StridedView, MergesWhatContinues) {
  StridedView view = StridedView::dense({2, 3, 4});
  // (2 x 3) rows of 4: one dim of 6 with stride 4.
  EXPECT_EQ(view.merge(0, 2), (std::pair<int64_t, int64_t>(6, 4)));
  EXPECT_EQ(view.merge(1, 0), (std::pair<int64_t, int64_t>(1, 0)));
  // dims 0 and 2 with 1 left out: 12 is not 1 x 4.
  EXPECT_FALSE(view.merge({0u, 2u}));
  // In the other order dim 2 would have to have stride 12 x 2.
  EXPECT_FALSE(view.merge({2u, 0u}));
  // A repeated dim merges only with repeated dims.
  StridedView repeated = StridedView::dense({4}).broadcast({2, 3, 4}, {2});
  EXPECT_EQ(repeated.merge(0, 2), (std::pair<int64_t, int64_t>(6, 0)));
  EXPECT_FALSE(repeated.merge(1, 2));
}

TEST(StridedView, ReshapeFollowsStrides) {
  // [4, 6] transposed to [6, 4] has strides 1, 6: 6 splits to 2 x 3 with strides 3, 1.
  StridedView moved = StridedView::dense({4, 6}).permute({1, 0});
  std::optional<StridedView> split = moved.reshape({2, 3, 4});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides, (Strides{3, 1, 6}));
  EXPECT_FALSE(moved.reshape({24}));
  // Dims of one element come and go.
  ASSERT_TRUE(moved.reshape({6, 1, 4, 1}));
  EXPECT_EQ(moved.reshape({6, 1, 4, 1})->strides, (Strides{1, 0, 6, 0}));
}

TEST(StridedView, SliceOffsetsAndSteps) {
  // Of [4, 6] the rows 3 and 1, of each the elements 1 and 4: starts at 3 x 6 + 1.
  StridedView view = StridedView::dense({4, 6}).slice({2, 2}, {3, 1}, {-2, 3});
  EXPECT_EQ(view.offset, 19);
  EXPECT_EQ(view.strides, (Strides{-12, 3}));
  EXPECT_EQ(view.slice({1, 1}, {1, 1}, {1, 1}).offset, 19 - 12 + 3);
}

/// The elements that a view shows, in row-major order.
std::vector<int64_t> elements(const StridedView &view) {
  std::vector<int64_t> result = {view.offset};
  for (auto [size, stride] : llvm::zip_equal(view.sizes, view.strides)) {
    std::vector<int64_t> next;
    for (int64_t start : result)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(start + i * stride);
    result = next;
  }
  return result;
}

/// A reshape moves no element: whenever strides allow one, the new view shows the same sequence.
TEST(StridedView, RandomViewsReshapeToTheSameSequence) {
  std::mt19937 random(11);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  int reshaped = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Shape sizes;
    for (int64_t rank = pick(1, 4); rank > 0; --rank)
      sizes.push_back(pick(1, 4));
    StridedView view = StridedView::dense(sizes);
    llvm::SmallVector<int64_t> permutation(sizes.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    if (pick(0, 1))
      std::shuffle(permutation.begin(), permutation.end(), random);
    view = view.permute(permutation);
    if (pick(0, 3) == 0) {
      Shape wider = view.sizes;
      wider.insert(wider.begin(), pick(1, 3));
      llvm::SmallVector<int64_t> dims(view.sizes.size());
      std::iota(dims.begin(), dims.end(), 1);
      view = view.broadcast(wider, dims);
    }
    // Another factorisation of the element count.
    int64_t count = 1;
    for (int64_t size : view.sizes)
      count *= size;
    Shape target;
    while (count > 1) {
      int64_t factor = pick(1, count);
      while (count % factor)
        --factor;
      target.push_back(factor);
      count /= factor;
      if (factor == 1 && target.size() > 6)
        break;
    }
    target.push_back(count);
    std::optional<StridedView> other = view.reshape(target);
    if (!other) {
      ++refused;
      EXPECT_FALSE(view.isDense()) << "a dense view takes every shape";
      continue;
    }
    ++reshaped;
    EXPECT_EQ(elements(*other), elements(view));
  }
  EXPECT_GT(reshaped, 500);
  EXPECT_GT(refused, 100);
}

} // namespace
