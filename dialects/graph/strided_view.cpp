// SPDX-License-Identifier: Apache-2.0
//
// Algebra of strided views.
#include "dialects/graph/strided_view.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llvm;

namespace echelon {

StridedView StridedView::dense(ArrayRef<int64_t> sizes) {
  StridedView view;
  view.sizes.assign(sizes.begin(), sizes.end());
  view.strides.assign(sizes.size(), 1);
  for (int i = int(sizes.size()) - 2; i >= 0; --i)
    view.strides[i] = view.strides[i + 1] * sizes[i + 1];
  return view;
}

bool StridedView::isDense() const {
  int64_t expected = 1;
  for (int i = int(sizes.size()) - 1; i >= 0; --i) {
    if (sizes[i] != 1 && strides[i] != expected)
      return false;
    expected *= sizes[i];
  }
  return true;
}

std::optional<std::pair<int64_t, int64_t>> StridedView::merge(ArrayRef<unsigned> dims) const {
  int64_t size = 1, stride = 0;
  for (unsigned dim : reverse(dims)) {
    if (sizes[dim] == 1)
      continue;
    if (size == 1)
      stride = strides[dim];
    else if (strides[dim] != stride * size)
      return std::nullopt;
    size *= sizes[dim];
  }
  return std::make_pair(size, stride);
}

std::optional<std::pair<int64_t, int64_t>> StridedView::merge(unsigned first, unsigned count) const {
  return merge(to_vector(seq<unsigned>(first, first + count)));
}

std::optional<StridedView> StridedView::reshape(ArrayRef<int64_t> newSizes) const {
  StridedView view;
  view.offset = offset;
  view.sizes.assign(newSizes.begin(), newSizes.end());
  view.strides.assign(newSizes.size(), 0);
  // Walk groups of old and new dims of equal product, innermost first.
  int oldDim = int(sizes.size()) - 1, newDim = int(newSizes.size()) - 1;
  while (oldDim >= 0 || newDim >= 0) {
    if (newDim >= 0 && newSizes[newDim] == 1) {
      --newDim;
      continue;
    }
    if (oldDim >= 0 && sizes[oldDim] == 1) {
      --oldDim;
      continue;
    }
    if (oldDim < 0 || newDim < 0)
      return std::nullopt;
    int64_t oldProduct = sizes[oldDim], newProduct = newSizes[newDim];
    int oldFirst = oldDim, newFirst = newDim;
    while (oldProduct != newProduct) {
      if (oldProduct < newProduct) {
        if (--oldFirst < 0)
          return std::nullopt;
        oldProduct *= sizes[oldFirst];
      } else {
        if (--newFirst < 0)
          return std::nullopt;
        newProduct *= newSizes[newFirst];
      }
    }
    auto merged = merge(oldFirst, oldDim - oldFirst + 1);
    if (!merged)
      return std::nullopt;
    int64_t stride = merged->second;
    for (int i = newDim; i >= newFirst; --i) {
      view.strides[i] = stride;
      stride *= newSizes[i];
    }
    oldDim = oldFirst - 1;
    newDim = newFirst - 1;
  }
  return view;
}

StridedView StridedView::permute(ArrayRef<int64_t> permutation) const {
  StridedView view;
  view.offset = offset;
  for (int64_t dim : permutation) {
    view.sizes.push_back(sizes[dim]);
    view.strides.push_back(strides[dim]);
  }
  return view;
}

StridedView StridedView::broadcast(ArrayRef<int64_t> newSizes, ArrayRef<int64_t> dims) const {
  StridedView view;
  view.offset = offset;
  view.sizes.assign(newSizes.begin(), newSizes.end());
  view.strides.assign(newSizes.size(), 0);
  for (auto [input, result] : enumerate(dims))
    view.strides[result] = strides[input];
  return view;
}

StridedView StridedView::slice(ArrayRef<int64_t> newSizes, ArrayRef<int64_t> offsets,
                               ArrayRef<int64_t> steps) const {
  StridedView view;
  view.offset = offset;
  view.sizes.assign(newSizes.begin(), newSizes.end());
  for (size_t dim = 0; dim < newSizes.size(); ++dim) {
    view.offset += offsets[dim] * strides[dim];
    view.strides.push_back(strides[dim] * steps[dim]);
  }
  return view;
}

} // namespace echelon
