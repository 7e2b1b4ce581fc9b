// SPDX-License-Identifier: Apache-2.0
//
// The JSON writer, and the reader against hostile text.
#include "runtime/base/json_reader.h"
#include "runtime/base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace echelon::runtime;

namespace {

bool accepts(std::string_view text, JsonLimits limits = {}) {
  return parseJson(text, limits).isOk();
}

TEST(JsonWriter, Values) {
  std::string out;
  JsonWriter json(out);
  json.beginObject();
  json.key("a");
  json.beginArray();
  json.integer(-5);
  json.number(0.1);
  json.number(NAN);
  json.number(INFINITY);
  json.boolean(true);
  json.endArray();
  json.key("q\"\n\x01");
  json.text("\\t\t");
  json.key("h");
  json.hexadecimal(0xABCu);
  json.endObject();
  EXPECT_EQ(out, R"({"a": [-5, 0.1, null, null, true], )"
                 R"("q\"\n\u0001": "\\t\t", "h": "0000000000000abc"})");
  EXPECT_TRUE(accepts(out));
}

TEST(JsonWriter, NineDigitsSurvive) {
  for (double value : {3.14159265358979, 1e-30 / 3, 123456789.125}) {
    std::string out;
    JsonWriter(out).number(value);
    EXPECT_LT(std::fabs(std::stod(out) / value - 1), 1e-11);
  }
}

TEST(JsonReader, Values) {
  Result<JsonValue> result = parseJson(
      R"( {"b": [1, -2.5e1, true, null, 18446744073709551615], "a": "\u00e9\ud83d\ude00\n"} )");
  ASSERT_TRUE(result.isOk()) << result.status().message;
  const JsonValue &value = result.value();
  ASSERT_EQ(value.keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(value.find("a")->text, "\xC3\xA9\xF0\x9F\x98\x80\n");
  const JsonValue &list = *value.find("b");
  EXPECT_EQ(list.items[0].unsignedNumber, 1u);
  EXPECT_EQ(list.items[1].number, -25);
  EXPECT_FALSE(list.items[1].isUnsigned);
  EXPECT_EQ(list.items[4].unsignedNumber, UINT64_MAX);
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(list.find("a"), nullptr);
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const char *bad : {"",
                          " ",
                          "{",
                          "[1,]",
                          "{\"a\":1,}",
                          "{\"a\"}",
                          "{a:1}",
                          "01",
                          "1.",
                          "1e",
                          "+1",
                          "-",
                          ".5",
                          "tru",
                          "nul",
                          "\"",
                          "\"\\x\"",
                          "\"\\u12\"",
                          "\"\\ud800\"",
                          "\"\\udc00\"",
                          "\"\\ud800\\u0041\"",
                          "[1 2]",
                          "1 2",
                          "{\"a\":1,\"a\":2}",
                          "NaN",
                          "Infinity",
                          "1e999",
                          "'a'"})
    EXPECT_FALSE(accepts(bad)) << bad;
  EXPECT_FALSE(accepts(std::string_view("\"a\0b\"", 5)));
  EXPECT_FALSE(accepts("\"\n\""));
}

TEST(JsonReader, RefusesBrokenUtf8) {
  for (const char *bad :
       {"\"\xFF\"", "\"\xC0\x80\"", "\"\xC3\"", "\"\xE0\x80\x80\"",
        "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\x80\"",
        "\"\xF0\x8F\xBF\xBF\""})
    EXPECT_FALSE(accepts(bad));
  for (const char *good :
       {"\"\xC3\xA9\"", "\"\xE2\x82\xAC\"", "\"\xF0\x9F\x98\x80\""})
    EXPECT_TRUE(accepts(good));
}

TEST(JsonReader, LimitsHold) {
  std::string deep(100000, '[');
  EXPECT_FALSE(accepts(deep));
  EXPECT_TRUE(accepts("[[1]]", {2, 10}));
  EXPECT_FALSE(accepts("[[[1]]]", {2, 10}));
  EXPECT_TRUE(accepts("[1,2,3]", {8, 4}));
  EXPECT_FALSE(accepts("[1,2,3,4]", {8, 4}));
}

TEST(JsonReader, ErrorsNameTheByte) {
  EXPECT_EQ(parseJson("{\"a\": x}").status().message,
            "invalid JSON at byte 6: expected a value");
}

// Mutations of a valid text must end in a value or an error, never in a crash
// (run under ASan).
TEST(JsonReader, SurvivesMutations) {
  std::string seed =
      R"({"t": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "\u00e9": -1.5e-3})";
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seed;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 5);
      else
        text[at] = static_cast<char>(random());
      if (text.empty())
        text = "x";
    }
    accepted += accepts(text);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 20000);
}

} // namespace
