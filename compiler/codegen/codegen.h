// SPDX-License-Identifier: Apache-2.0
//
// From a lowered module to the training binary: LLVM IR with the program table, an object, an ELF.
#ifndef ECHELON_COMPILER_CODEGEN_CODEGEN_H
#define ECHELON_COMPILER_CODEGEN_CODEGEN_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>
#include <string>

namespace echelon {

/// What the program table says besides what the module holds.
struct ProgramFacts {
  std::string model;          ///< file name of the ONNX model
  std::string compiler;       ///< name and version
  std::string planHash;       ///< 16 hex digits
  std::string planJson;
  std::string modelDirectory; ///< absolute; weight files are relative to it in the module
  std::string binaryDirectory;///< absolute; weight files are relative to it in the program
  int64_t micro = 1;
  int64_t accumulate = 1;
  uint64_t seed = 0;
};

/// A variable's declaration as the program table holds it.
struct VariableFacts {
  std::string name;
  int32_t arena = 0, dtype = 0, trainable = 0, init = 1, fileIndex = -1, fileDtype = 0, owner = -1;
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t offset = 0, bytes = 0, fileOffset = 0, fileBytes = 0, fileHash = 0, initStream = 0;
  double initA = 0, initB = 0;
};

/// The relative path from one folder to another path; both are absolute and without dots.
std::string relativePath(llvm::StringRef from, llvm::StringRef to);

/// Adds `ech_program_export` to `llvmModule` for the entries echelon_{microbatch,update,evaluate} in it, from the
/// graph.variable ops and exec attributes that `module` had before translation. Errors: a weight file that cannot be
/// read; missing attributes.
llvm::Error addProgramTable(llvm::Module &llvmModule, mlir::ModuleOp module, const ProgramFacts &facts);

struct EmitOptions {
  std::string cpu;      ///< target CPU; empty: this machine's
  std::string features; ///< with cpu
  unsigned optimize = 2;
};

/// Sets triple, data layout and target attributes, optimizes and writes an object file. `undefined` gets the symbols
/// that the object needs from outside. A failed write carries its errno.
llvm::Error emitObject(llvm::Module &module, const EmitOptions &options, llvm::StringRef path,
                       llvm::SmallVectorImpl<std::string> &undefined);

/// Links the object with runtime and kernels into `path`. `libraryDirectory` holds libechelon_runtime.a and
/// libEchelonKernels.a. A failed write carries its errno.
llvm::Error linkBinary(llvm::StringRef object, llvm::StringRef libraryDirectory, llvm::StringRef path);

} // namespace echelon

#endif
