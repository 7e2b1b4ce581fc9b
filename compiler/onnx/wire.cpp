// SPDX-License-Identifier: Apache-2.0
//
// The protobuf wire format (protobuf.dev/programming-guides/encoding), as far
// as finding payloads needs it. Field numbers are those of onnx.proto.
#include "compiler/onnx/wire.h"
#include <functional>

using namespace llvm;

namespace echelon::onnx_import {

namespace {

struct Field {
  uint32_t number = 0;
  uint32_t wireType = 0;
  uint64_t start = 0;  ///< of the tag
  uint64_t offset = 0; ///< of the payload of a length-delimited field
  uint64_t length = 0;
};

/// Reads the fields of one message that lies at [at, end).
class Reader {
public:
  Reader(ArrayRef<uint8_t> file, uint64_t at, uint64_t end)
      : file(file), at(at), end(end) {}

  /// False at the end and on malformed input.
  bool next(Field &field) {
    isWhole = at == end;
    uint64_t tag;
    field = Field();
    field.start = at;
    if (at >= end || !varint(tag))
      return false;
    field.number = uint32_t(tag >> 3);
    field.wireType = uint32_t(tag & 7);
    field.offset = at;
    switch (field.wireType) {
    case 0: {
      uint64_t ignored;
      return varint(ignored);
    }
    case 1:
      return skip(8);
    case 5:
      return skip(4);
    case 2:
      if (!varint(field.length))
        return false;
      field.offset = at;
      return skip(field.length);
    default: // groups are not used by ONNX
      return false;
    }
  }

  /// Whether the message was read to its end.
  bool atEnd() const { return isWhole; }
  uint64_t position() const { return at; }

private:
  bool isWhole = false;
  bool skip(uint64_t bytes) {
    if (bytes > end - at)
      return false;
    at += bytes;
    return true;
  }

  bool varint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
      uint8_t byte = file[at++];
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }

  ArrayRef<uint8_t> file;
  uint64_t at, end;
};

constexpr uint32_t kModelGraph = 7, kGraphNode = 1, kGraphInitializer = 5,
                   kNodeAttribute = 5, kAttributeTensor = 5, kTensorFloats = 4,
                   kTensorRaw = 9, kTensorDoubles = 10;

} // namespace

static WireSpan tensorPayload(ArrayRef<uint8_t> file, const Field &tensor) {
  Reader reader(file, tensor.offset, tensor.offset + tensor.length);
  WireSpan span;
  int pieces = 0;
  for (Field field; reader.next(field);) {
    bool packed = field.wireType == 2 && (field.number == kTensorFloats ||
                                          field.number == kTensorDoubles);
    if (field.wireType == 2 && (packed || field.number == kTensorRaw)) {
      span = {field.offset, field.length};
      ++pieces;
    } else if (field.number == kTensorFloats ||
               field.number == kTensorDoubles) {
      pieces = 2; // one float at a time
    }
  }
  return pieces == 1 ? span : WireSpan();
}

static void indexNode(ArrayRef<uint8_t> file, const Field &node, int index,
                      WireIndex &result) {
  Reader reader(file, node.offset, node.offset + node.length);
  int attribute = 0;
  for (Field field; reader.next(field);) {
    if (field.number != kNodeAttribute || field.wireType != 2)
      continue;
    Reader inner(file, field.offset, field.offset + field.length);
    int tensors = 0;
    WireSpan span;
    for (Field part; inner.next(part);)
      if (part.number == kAttributeTensor && part.wireType == 2) {
        span = tensorPayload(file, part);
        ++tensors;
      }
    if (tensors == 1 && span.length)
      result.attributes[{index, attribute}] = span;
    ++attribute;
  }
}

WireIndex indexPayloads(ArrayRef<uint8_t> file) {
  WireIndex result;
  int nodes = 0;
  Reader model(file, 0, file.size());
  for (Field graph; model.next(graph);) {
    if (graph.number != kModelGraph || graph.wireType != 2)
      continue;
    Reader reader(file, graph.offset, graph.offset + graph.length);
    for (Field field; reader.next(field);) {
      if (field.wireType != 2)
        continue;
      if (field.number == kGraphInitializer)
        result.initializers.push_back(tensorPayload(file, field));
      else if (field.number == kGraphNode)
        indexNode(file, field, nodes++, result);
    }
  }
  return result;
}

static void putVarint(std::string &bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes += char(value | 0x80);
  bytes += char(value);
}

static void putMessage(std::string &bytes, uint32_t number,
                       const std::string &message) {
  putVarint(bytes, uint64_t(number) << 3 | 2);
  putVarint(bytes, message.size());
  bytes += message;
}

/// Rewrites the fields of one message: `rewrite` returns the new payload of a
/// length-delimited field, or nothing to copy the field as it is.
template <typename Rewrite>
static bool rewriteMessage(ArrayRef<uint8_t> file, uint64_t begin, uint64_t end,
                           std::string &result, Rewrite rewrite) {
  Reader reader(file, begin, end);
  for (Field field; reader.next(field);) {
    std::optional<std::string> message;
    if (field.wireType == 2 && !rewrite(field, message))
      return false;
    if (message)
      putMessage(result, field.number, *message);
    else
      result.append(reinterpret_cast<const char *>(file.data()) + field.start,
                    reader.position() - field.start);
  }
  return reader.atEnd();
}

std::optional<std::string> withoutPayloads(ArrayRef<uint8_t> file) {
  constexpr uint64_t kLarge = 4096;
  auto tensor = [&](const Field &field, std::optional<std::string> &message) {
    if (field.number == kTensorRaw && field.length > kLarge)
      message.emplace();
    return true;
  };
  auto graph = [&](const Field &field, std::optional<std::string> &message) {
    // More than one payload in a tensor is rare and left to the parser.
    if (field.number != kGraphInitializer || field.length <= kLarge ||
        !tensorPayload(file, field).length)
      return true;
    return rewriteMessage(file, field.offset, field.offset + field.length,
                          message.emplace(), tensor);
  };
  auto model = [&](const Field &field, std::optional<std::string> &message) {
    return field.number != kModelGraph ||
           rewriteMessage(file, field.offset, field.offset + field.length,
                          message.emplace(), graph);
  };
  std::string result;
  if (!rewriteMessage(file, 0, file.size(), result, model))
    return std::nullopt;
  return result;
}

static void forEachUnknown(const google::protobuf::Message &message, int number,
                           function_ref<void(const std::string &)> visit) {
  const google::protobuf::UnknownFieldSet &fields =
      message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField &field = fields.field(i);
    if (field.number() == number &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      visit(field.length_delimited());
  }
}

std::map<std::string, std::string> readMetadata(const onnx::NodeProto &node) {
  std::map<std::string, std::string> result;
  forEachUnknown(node, 9, [&](const std::string &bytes) {
    onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(bytes))
      result[entry.key()] = entry.value();
  });
  return result;
}

std::string readOverload(const google::protobuf::Message &message, int field) {
  std::string result;
  forEachUnknown(message, field,
                 [&](const std::string &bytes) { result = bytes; });
  return result;
}

} // namespace echelon::onnx_import
