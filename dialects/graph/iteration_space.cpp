// SPDX-License-Identifier: Apache-2.0
//
// Parsing, binding and printing of iteration spaces.
#include "dialects/graph/iteration_space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace echelon {

static Error spaceError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

unsigned IterationSpace::addName(StringRef text, int64_t size, bool whole) {
  for (auto [index, name] : enumerate(names))
    if (name.text == text) {
      name.whole |= whole;
      return index;
    }
  names.push_back({text.str(), size, whole});
  return names.size() - 1;
}

/// Parses one tensor: words, "(a b)" groups, "..." and "1".
static Error parseTensor(IterationSpace &space, StringRef text, unsigned ellipsisRank,
                         SpaceTensor &tensor) {
  SpaceDim group;
  bool inGroup = false;
  while (!(text = text.ltrim()).empty()) {
    if (text.consume_front("(")) {
      if (inGroup)
        return spaceError("nested '(' in iteration space");
      inGroup = true;
      group.clear();
      continue;
    }
    if (text.consume_front(")")) {
      if (!inGroup)
        return spaceError("')' without '(' in iteration space");
      inGroup = false;
      tensor.push_back(group);
      continue;
    }
    if (text.consume_front("...")) {
      if (inGroup)
        return spaceError("'...' inside '(' ')' in iteration space");
      for (unsigned i = 0; i < ellipsisRank; ++i)
        tensor.push_back({space.addName("i" + utostr(i))});
      continue;
    }
    StringRef word = text.take_while([](char c) { return isAlnum(c) || c == '_'; });
    if (word.empty())
      return spaceError("unexpected '" + text.take_front(1) + "' in iteration space");
    text = text.drop_front(word.size());
    if (word == "1") {
      if (!inGroup)
        tensor.push_back({});
      continue;
    }
    if (inGroup)
      group.push_back(space.addName(word));
    else
      tensor.push_back({space.addName(word)});
  }
  return inGroup ? spaceError("'(' without ')' in iteration space") : Error::success();
}

static Error parseTensors(IterationSpace &space, StringRef text, unsigned ellipsisRank,
                          SmallVectorImpl<SpaceTensor> &tensors) {
  if (text.trim().empty())
    return Error::success();
  SmallVector<StringRef, 4> parts;
  text.split(parts, ',');
  for (StringRef part : parts)
    if (Error error = parseTensor(space, part, ellipsisRank, tensors.emplace_back()))
      return error;
  return Error::success();
}

Expected<IterationSpace> IterationSpace::parse(StringRef text, unsigned ellipsisRank) {
  IterationSpace space;
  auto [body, marks] = text.split(':');
  size_t arrow = body.find("->");
  if (arrow == StringRef::npos)
    return spaceError("iteration space '" + text + "' has no '->'");
  if (Error error = parseTensors(space, body.take_front(arrow), ellipsisRank, space.operands))
    return error;
  if (Error error = parseTensors(space, body.drop_front(arrow + 2), ellipsisRank, space.results))
    return error;
  marks = marks.trim();
  if (marks.consume_front("whole")) {
    SmallVector<StringRef, 4> words;
    marks.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef word : words) {
      if (none_of(space.names, [&](const Name &name) { return name.text == word; }))
        return spaceError("'whole' names '" + word + "', which no tensor has");
      space.addName(word, 0, /*whole=*/true);
    }
  } else if (!marks.empty()) {
    return spaceError("unknown mark '" + marks + "' in iteration space");
  }
  return space;
}

/// Binds the names of single-name dims (compound = false) or the last free name of compound dims.
static Error bindTensor(IterationSpace &space, const SpaceTensor &tensor, const Shape &shape,
                        const Twine &what, bool compound) {
  if (tensor.size() != shape.size())
    return spaceError(what + " has rank " + Twine(shape.size()) + ", iteration space '" +
                      space.str() + "' wants " + Twine(tensor.size()));
  for (auto [index, dim] : enumerate(tensor)) {
    if ((dim.size() > 1) != compound)
      continue;
    int64_t size = shape[index];
    int free = -1;
    for (unsigned name : dim) {
      int64_t bound = space.names[name].size;
      if (!bound) {
        if (free >= 0)
          return spaceError("sizes of '" + space.names[free].text + "' and '" +
                            space.names[name].text + "' are not determined");
        free = name;
      } else if (size % bound == 0) {
        size /= bound;
      } else {
        return spaceError("dim " + Twine(index) + " of " + what + " is " + Twine(shape[index]) +
                          ", but '" + space.names[name].text + "' is " + Twine(bound));
      }
    }
    if (free >= 0)
      space.names[free].size = size;
    else if (size != 1)
      return spaceError("dim " + Twine(index) + " of " + what + " is " + Twine(shape[index]) +
                        (dim.empty() ? Twine(", expected 1")
                                     : ", but '" + Twine(space.names[dim[0]].text) + "' is " +
                                           Twine(space.names[dim[0]].size)));
  }
  return Error::success();
}

Error IterationSpace::bind(ArrayRef<Shape> operandShapes, ArrayRef<Shape> resultShapes) {
  if (operandShapes.size() != operands.size() || resultShapes.size() != results.size())
    return spaceError("iteration space '" + str() + "' has " + Twine(operands.size()) +
                      " operands and " + Twine(results.size()) + " results, got " +
                      Twine(operandShapes.size()) + " and " + Twine(resultShapes.size()));
  for (bool compound : {false, true}) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (Error error = bindTensor(*this, operands[i], operandShapes[i], "operand " + Twine(i), compound))
        return error;
    for (size_t i = 0; i < results.size(); ++i)
      if (Error error = bindTensor(*this, results[i], resultShapes[i], "result " + Twine(i), compound))
        return error;
  }
  return Error::success();
}

Shape IterationSpace::shapeOf(const SpaceTensor &tensor, ArrayRef<int64_t> sizes) const {
  Shape shape;
  for (const SpaceDim &dim : tensor) {
    int64_t size = 1;
    for (unsigned name : dim)
      size *= sizes.empty() ? names[name].size : sizes[name];
    shape.push_back(size);
  }
  return shape;
}

int64_t IterationSpace::points() const {
  int64_t product = 1;
  for (const Name &name : names)
    product *= name.size;
  return product;
}

bool IterationSpace::isReduction(unsigned name) const {
  return none_of(results, [&](const SpaceTensor &tensor) {
    return any_of(tensor, [&](const SpaceDim &dim) { return is_contained(dim, name); });
  });
}

std::string IterationSpace::str() const {
  std::string text;
  raw_string_ostream out(text);
  auto printTensors = [&](ArrayRef<SpaceTensor> tensors) {
    interleave(tensors, out, [&](const SpaceTensor &tensor) {
      interleave(tensor, out, [&](const SpaceDim &dim) {
        if (dim.empty())
          out << "1";
        if (dim.size() > 1)
          out << "(";
        interleave(dim, out, [&](unsigned name) { out << names[name].text; }, " ");
        if (dim.size() > 1)
          out << ")";
      }, " ");
    }, ", ");
  };
  printTensors(operands);
  out << " -> ";
  printTensors(results);
  bool first = true;
  for (const Name &name : names)
    if (name.whole) {
      out << (first ? " : whole " : " ") << name.text;
      first = false;
    }
  return text;
}

} // namespace echelon
