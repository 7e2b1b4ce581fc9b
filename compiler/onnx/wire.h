// SPDX-License-Identifier: Apache-2.0
//
// What protobuf's classes do not tell: where in the file a tensor's payload
// lies (so that weights stay there), and fields that are newer than libonnx
// 1.12 (node metadata), both read from the wire format.
#ifndef ECHELON_COMPILER_ONNX_WIRE_H
#define ECHELON_COMPILER_ONNX_WIRE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <onnx/onnx_pb.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::onnx_import {

/// Bytes of the model file. `length` 0: no payload in one piece.
struct WireSpan {
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// Payloads (raw_data, or a packed float_data or double_data) of the main
/// graph's tensors, by position.
struct WireIndex {
  std::vector<WireSpan> initializers;
  /// By (node, attribute): the tensor in an attribute's field `t`.
  std::map<std::pair<int, int>, WireSpan> attributes;
};

/// Walks the bytes of a ModelProto; stops at the first malformed field, which
/// the protobuf parser reports.
WireIndex indexPayloads(llvm::ArrayRef<uint8_t> file);

/// The same message with the raw_data of its large initializers emptied, so
/// that parsing it does not copy the weights. Nothing if the file is malformed.
std::optional<std::string> withoutPayloads(llvm::ArrayRef<uint8_t> file);

/// Node metadata (NodeProto field 9, IR 10), which libonnx 1.12 keeps as an
/// unknown field.
std::map<std::string, std::string> readMetadata(const onnx::NodeProto &node);

/// NodeProto field 8 or FunctionProto field 13 (IR 10): the overload's name.
std::string readOverload(const google::protobuf::Message &message, int field);

} // namespace echelon::onnx_import

#endif
