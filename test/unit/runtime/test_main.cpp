// SPDX-License-Identifier: Apache-2.0
//
// The main of the unit tests; it comes before the one in the runtime's archive.
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
