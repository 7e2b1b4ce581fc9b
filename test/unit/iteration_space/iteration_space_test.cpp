// SPDX-License-Identifier: Apache-2.0
//
// Iteration spaces: text and back, binding of sizes, shapes under other sizes, and every error by its words.
#include "dialects/graph/iteration_space.h"
#include <gtest/gtest.h>

using namespace echelon;

namespace {

IterationSpace parsed(llvm::StringRef text, unsigned ellipsisRank = 0) {
  llvm::Expected<IterationSpace> space = IterationSpace::parse(text, ellipsisRank);
  if (!space) {
    ADD_FAILURE() << text.str() << ": " << llvm::toString(space.takeError());
    return {};
  }
  return *space;
}

std::string parseError(llvm::StringRef text) {
  llvm::Expected<IterationSpace> space = IterationSpace::parse(text);
  return space ? "parsed" : llvm::toString(space.takeError());
}

std::string bindError(llvm::StringRef text, llvm::ArrayRef<Shape> operands, llvm::ArrayRef<Shape> results) {
  IterationSpace space = parsed(text);
  llvm::Error error = space.bind(operands, results);
  return error ? llvm::toString(std::move(error)) : "bound";
}

TEST(IterationSpace, TextSurvivesParsing) {
  for (const char *text :
       {"b m k, k n -> b m n", "b (h d) -> b h d", "v d, i0 -> i0 d : whole v", "a 1 b -> a b : whole a b", "i ->"})
    EXPECT_EQ(llvm::StringRef(parsed(text).str()).trim(), text);
}

TEST(IterationSpace, EllipsisStandsForNames) {
  EXPECT_EQ(parsed("... d, d -> ... d", 2).str(), "i0 i1 d, d -> i0 i1 d");
  EXPECT_EQ(parsed("... d -> ...", 0).str(), "d -> ");
}

TEST(IterationSpace, ScalarsInListsAreTensors) {
  IterationSpace space = parsed("a, , b -> , a");
  EXPECT_EQ(space.operands.size(), 3u);
  EXPECT_EQ(space.results.size(), 2u);
  EXPECT_TRUE(space.operands[1].empty());
}

TEST(IterationSpace, NamesInOrderOfAppearanceWithMarks) {
  IterationSpace space = parsed("b k, k n -> b n : whole n");
  ASSERT_EQ(space.names.size(), 3u);
  EXPECT_EQ(space.names[0].text, "b");
  EXPECT_EQ(space.names[1].text, "k");
  EXPECT_TRUE(space.names[2].whole);
  EXPECT_FALSE(space.names[1].whole);
  EXPECT_TRUE(space.isReduction(1));
  EXPECT_FALSE(space.isReduction(0));
}

TEST(IterationSpace, ParseErrorsNameTheWord) {
  EXPECT_EQ(parseError("a b"), "iteration space 'a b' has no '->'");
  EXPECT_EQ(parseError("(a (b)) -> a"), "nested '(' in iteration space");
  EXPECT_EQ(parseError("a) -> a"), "')' without '(' in iteration space");
  EXPECT_EQ(parseError("(a -> a"), "'(' without ')' in iteration space");
  EXPECT_EQ(parseError("(...) -> a"), "'...' inside '(' ')' in iteration space");
  EXPECT_EQ(parseError("a + b -> a"), "unexpected '+' in iteration space");
  EXPECT_EQ(parseError("a -> a : whole z"), "'whole' names 'z', which no tensor has");
  EXPECT_EQ(parseError("a -> a : half a"), "unknown mark 'half a' in iteration space");
}

TEST(IterationSpace, BindsSizes) {
  IterationSpace space = parsed("b m k, k n -> b m n");
  ASSERT_FALSE(bool(space.bind({{2, 3, 4}, {4, 5}}, {{2, 3, 5}})));
  EXPECT_EQ(space.points(), 2 * 3 * 4 * 5);
  EXPECT_EQ(space.shapeOf(space.results[0]), (Shape{2, 3, 5}));
  // Two rows on a device, the rest as it is: names are b, m, k, n.
  EXPECT_EQ(space.shapeOf(space.operands[0], {1, 3, 4, 5}), (Shape{1, 3, 4}));
  EXPECT_EQ(space.shapeOf(space.operands[1], {1, 3, 4, 5}), (Shape{4, 5}));
}

TEST(IterationSpace, CompoundDimsDivide) {
  IterationSpace space = parsed("b (h d) -> b h d");
  ASSERT_FALSE(bool(space.bind({{2, 12}}, {{2, 3, 4}})));
  EXPECT_EQ(space.shapeOf(space.operands[0], {2, 1, 4}), (Shape{2, 4}));
  // One name of the compound is free: 12 / 3.
  IterationSpace open = parsed("(h d) -> h");
  ASSERT_FALSE(bool(open.bind({{12}}, {{3}})));
  EXPECT_EQ(open.names[1].size, 4);
}

TEST(IterationSpace, BindErrorsGiveBothSizes) {
  EXPECT_EQ(bindError("a, a -> a", {{2}, {3}}, {{2}}), "dim 0 of operand 1 is 3, but 'a' is 2");
  EXPECT_EQ(bindError("a -> a", {{2, 2}}, {{2}}), "operand 0 has rank 2, iteration space 'a -> a' wants 1");
  EXPECT_EQ(bindError("a -> a", {{2}, {2}}, {{2}}), "iteration space 'a -> a' has 1 operands and 1 results, got 2 and 1");
  EXPECT_EQ(bindError("(a b) -> a", {{7}}, {{2}}), "dim 0 of operand 0 is 7, but 'a' is 2");
  EXPECT_EQ(bindError("(a b) -> a b", {{12}}, {{2, 3}}), "dim 0 of operand 0 is 12, but 'a' is 2");
  EXPECT_EQ(bindError("(a b) ->", {{12}}, {}), "sizes of 'a' and 'b' are not determined");
  EXPECT_EQ(bindError("a 1 -> a", {{2, 3}}, {{2}}), "dim 1 of operand 0 is 3, expected 1");
}

TEST(IterationSpace, AddNameIsIdempotentAndKeepsMarks) {
  IterationSpace space;
  unsigned first = space.addName("a", 4);
  EXPECT_EQ(space.addName("a", 4, /*whole=*/true), first);
  EXPECT_TRUE(space.names[first].whole);
  EXPECT_EQ(space.names.size(), 1u);
}

} // namespace
