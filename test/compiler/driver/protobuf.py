# SPDX-License-Identifier: Apache-2.0
#
# ONNX files byte by byte: as much of protobuf's encoding, and of onnx.proto, as models with a fault need. A message is
# bytes; `field` is the only encoder.
FLOAT, INT64 = 1, 7


def varint(value):
    value &= 2 ** 64 - 1
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data) + bytes([value])


def field(number, value):
    """Integers as varints, text and messages with their length, a list as one field each."""
    if isinstance(value, list):
        return b"".join(field(number, each) for each in value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, raw=None, external=None, kind=FLOAT):
    """With `external`, a dict such as {"location": "w.bin"}, the data lies in another file."""
    data = field(1, list(dims)) + field(2, kind) + field(8, name)
    if external is None:
        return data + field(9, raw)
    return data + field(13, [field(1, key) + field(2, str(value)) for key, value in external.items()]) + field(14, 1)


def value_info(name, dims, kind=FLOAT):
    """A dim is a number or a symbol."""
    shape = field(1, [field(2, dim) if isinstance(dim, str) else field(1, dim) for dim in dims])
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def node(kind, inputs, outputs, name):
    return field(1, list(inputs)) + field(2, list(outputs)) + field(3, name) + field(4, kind)


def model(nodes, tensors, inputs, outputs, opset=17):
    graph = field(1, nodes) + field(2, "g") + field(5, tensors) + field(11, inputs) + field(12, outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))
