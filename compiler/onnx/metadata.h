// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's dynamo exporter leaves in a node's metadata: the FX call with
// the placeholders of parameters (`%p_...`) and buffers (`%b_...`), the module
// scopes, and the Python stack.
#ifndef ECHELON_COMPILER_ONNX_METADATA_H
#define ECHELON_COMPILER_ONNX_METADATA_H

#include "compiler/onnx/model.h"
#include <string>
#include <vector>

namespace echelon::onnx_import {

/// `target=torch.ops.aten.linear.default](args = (%x, %p_w), ...)`.
struct FxCall {
  std::string target; ///< "aten.linear"; empty: no metadata
  std::vector<std::string> arguments;
};
FxCall parseFxCall(const Node &node);

/// What the metadata says about a constant at input `index` of a node.
struct FxOperand {
  enum class Kind {
    Unknown,   ///< nothing: rules decide
    Parameter, ///< `placeholder` names it
    Buffer,    ///< a registered buffer or a lifted constant
    Absent     ///< the source passed None: an exporter's filler
  } kind = Kind::Unknown;
  std::string placeholder; ///< without '%'
};
FxOperand fxOperand(const Node &node, unsigned index,
                    const std::string &ownName);

/// The placeholder of the bias of this node's FX call, or empty.
std::string fxBias(const Node &node);

/// "p_m_h_0_ln_1_weight" -> "m.h.0.ln_1.weight" with the node's scopes; empty
/// if no scope fits.
std::string unmangle(const Node &node, const std::string &placeholder);

/// "m.h.0.LN.w" -> "m_h_0_ln_w", as placeholders are made.
std::string mangle(const std::string &name);

/// `model.py:123 in forward`: the innermost frame, or empty.
std::string pythonLine(const Node &node);

} // namespace echelon::onnx_import

#endif
