// SPDX-License-Identifier: Apache-2.0
//
// The entry of every training binary: runs the program that compiled code
// exports.
#include "runtime/engine/run.h"

#include <unistd.h>

int main(int argc, char **argv) {
  return echelon::runtime::runProgram(ech_program_export, argc, argv, environ);
}
