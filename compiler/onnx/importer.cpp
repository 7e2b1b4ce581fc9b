// SPDX-License-Identifier: Apache-2.0
//
// The door: everything thrown inside this folder ends here as one message.
#include "compiler/onnx/importer.h"
#include "compiler/onnx/graph_importer.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <new>

using namespace llvm;

namespace echelon {

/// What MLIR's verifier finds would be our fault; the user still gets the node.
static Error verifyImported(mlir::ModuleOp module) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (text.empty())
          text = describeLocation(diagnostic.getLocation()) + ": " +
                 diagnostic.str();
        return mlir::success();
      });
  if (mlir::succeeded(mlir::verify(module)))
    return Error::success();
  return createStringError("imported op does not verify at " + text);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(StringRef path, const ImportOptions &options,
            mlir::MLIRContext &context, ImportReport &report) {
  try {
    onnx_import::Model model = onnx_import::loadModel(path);
    auto module =
        onnx_import::GraphImporter(model, options, context, report).run();
    if (Error error = verifyImported(*module))
      return error;
    return module;
  } catch (const onnx_import::ImportFailure &failure) {
    return createStringError(failure.what());
  } catch (const std::bad_alloc &) {
    return createStringError("model '" + path +
                             "' needs more memory than there is");
  } catch (const std::exception &failure) {
    return createStringError("model '" + path + "': " + failure.what());
  }
}

static void addSection(std::string &text, StringRef title,
                       ArrayRef<std::string> lines) {
  if (lines.empty())
    return;
  text += (title + ":\n").str();
  for (const std::string &line : lines)
    text += "  " + line + "\n";
}

std::string ImportReport::text() const {
  std::string result;
  addSection(result, "model", model);
  addSection(result, "inputs", inputs);
  addSection(result, "symbols", symbols);
  addSection(result, "parameters", parameters);
  addSection(result, "decisions", decisions);
  return result;
}

std::string describeLocation(mlir::Location location) {
  std::string python;
  mlir::Location at = location;
  while (auto fused = dyn_cast<mlir::FusedLoc>(at)) {
    if (auto line = dyn_cast_or_null<mlir::StringAttr>(fused.getMetadata()))
      python = line.str();
    if (fused.getLocations().empty())
      break;
    at = fused.getLocations().front();
  }
  auto name = dyn_cast<mlir::NameLoc>(at);
  auto file = name ? dyn_cast<mlir::FileLineColLoc>(name.getChildLoc())
                   : mlir::FileLineColLoc();
  if (!file) {
    std::string text;
    raw_string_ostream stream(text);
    location.print(stream);
    return text;
  }
  return ("node \"" + name.getName().getValue() + "\" (" +
          file.getFilename().getValue() + ", node " + Twine(file.getLine()) +
          (python.empty() ? "" : "; " + python) + ")")
      .str();
}

} // namespace echelon
