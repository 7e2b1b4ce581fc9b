// SPDX-License-Identifier: Apache-2.0
//
// Reading an ONNX model: the file becomes a module of graph ops with static
// shapes, its weights stay where they are and are named by file, offset and
// length.
#ifndef ECHELON_COMPILER_ONNX_IMPORTER_H
#define ECHELON_COMPILER_ONNX_IMPORTER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

struct ImportOptions {
  /// Size of each named dim (dim_param) that is known, from the spec or the
  /// command line.
  std::map<std::string, int64_t> symbols;
  /// Shape of one microbatch of each graph input as far as it is known; dim 0
  /// is the rows.
  std::map<std::string, std::vector<int64_t>> inputShapes;
  /// batch.micro: the size of dim 0 of every input that nothing else binds.
  std::optional<int64_t> micro;
  /// Parameters of one group are one variable (equal shapes, or transposes).
  std::vector<std::vector<std::string>> tie;
  /// Names of one group stay apart; the only name of a group is split into one
  /// parameter per use.
  std::vector<std::vector<std::string>> split;
  /// Globs over parameter names. Empty `trainable`: all.
  std::vector<std::string> trainable, frozen;
  /// False: a Dropout node in training mode passes its input on.
  bool honoursDropout = true;
};

/// What the importer found and decided, one line each.
struct ImportReport {
  std::vector<std::string> model;      ///< file, producer, IR, opset
  std::vector<std::string> inputs;     ///< name, type, dims
  std::vector<std::string> symbols;    ///< name = size, and from where
  std::vector<std::string> parameters; ///< name, shape, role, trainable
  std::vector<std::string> decisions;  ///< each choice about identity
  std::string text() const;
};

/// The module has the graph.variable ops of all parameters and one function
/// `forward`: an argument (attribute `graph.name`) for each graph input, a
/// result for each graph output. Module attributes: `graph.model` (the file's
/// name) and `graph.batch` (the size of dim 0 of the inputs; a batch that the
/// exporter baked in stays, even if it differs from `micro`).
/// `context` needs no dialect loaded. Errors: one message that says what is
/// wrong, at which node, and what to do; several lines when several ops are
/// unsupported or several symbols unbound. The file may be hostile.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(llvm::StringRef path, const ImportOptions &options,
            mlir::MLIRContext &context, ImportReport &report);

/// `node "h.0/attn/MatMul" (model.onnx, node 17; model.py:123 in forward)`, or
/// the location's own text if the importer did not make it.
std::string describeLocation(mlir::Location location);

} // namespace echelon

#endif
