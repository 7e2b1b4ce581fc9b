// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --fuse-elementwise --split-input-file --verify-diagnostics
// RUN: not echelon-opt %s --fuse-elementwise=limit=3 2>&1 | FileCheck %s
// CHECK: no such option limit

// expected-error @below {{has several blocks; graph functions have one}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  llvm.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

// A declaration has nothing to fuse.
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
