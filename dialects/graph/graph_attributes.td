// SPDX-License-Identifier: Apache-2.0
// The attributes of all families: one dialect has one attribute parser.
include "dialects/graph/elementwise.td"
include "dialects/graph/optimizer.td"
include "dialects/graph/reduction.td"
include "dialects/graph/state.td"
