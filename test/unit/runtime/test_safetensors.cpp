// SPDX-License-Identifier: Apache-2.0
//
// The safetensors reader against hostile headers, and writer and reader
// together.
#include "runtime/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <unistd.h>

using namespace echelon::runtime;

namespace {

class Safetensors : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "echelon-" + std::to_string(getpid()) +
           ".safetensors";
  }
  void TearDown() override { unlink(path.c_str()); }

  void writeRaw(const std::string &bytes) {
    FILE *file = fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    fwrite(bytes.data(), 1, bytes.size(), file);
    fclose(file);
  }

  static std::string withHeader(const std::string &header,
                                size_t dataBytes = 24) {
    uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char *>(&length), 8);
    return bytes + header + std::string(dataBytes, '\1');
  }

  // The error of a file with this header and 24 bytes of data, empty if it is
  // accepted.
  std::string errorOf(const std::string &header) {
    writeRaw(withHeader(header));
    Result<SafetensorsFile> file = SafetensorsFile::open(path);
    if (file.isOk())
      return "";
    EXPECT_EQ(file.status().code, ECH_EXIT_INPUT);
    EXPECT_NE(file.status().message.find(path), std::string::npos);
    return file.status().message;
  }

  void expectError(const std::string &header, const char *text) {
    EXPECT_NE(errorOf(header).find(text), std::string::npos) << header << "\n"
                                                             << errorOf(header);
  }

  std::string path;
};

std::string tensor(const char *dtype, const char *shape, const char *offsets) {
  return std::string("{\"a\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}}";
}

TEST_F(Safetensors, AcceptsAGoodFile) {
  EXPECT_EQ(errorOf(tensor("F32", "[2,3]", "[0,24]")), "");
  EXPECT_EQ(errorOf(tensor("F64", "[3]", "[0,24]")), "");
  EXPECT_EQ(errorOf("{\"__metadata__\":{\"k\":\"v\"},\"e\":{\"dtype\":\"I8\","
                    "\"shape\":[0,5],\"data_offsets\":[0,0]},\"b\":{\"dtype\":"
                    "\"U8\",\"shape\":[24],\"data_offsets\":[0,24]}}"),
            "");
}

TEST_F(Safetensors, RefusesBadTensors) {
  expectError(tensor("F31", "[2,3]", "[0,24]"), "unknown dtype");
  expectError(tensor("F32", "[2,2]", "[0,24]"), "differ from its shape");
  expectError(tensor("F32", "[2,3]", "[0,28]"), "outside of the file");
  expectError(tensor("F32", "[2,3]", "[24,0]"), "outside of the file");
  expectError(tensor("F32", "[2,3]", "[18446744073709551592,0]"),
              "outside of the file");
  expectError(tensor("F32", "[2,3]", "[0]"), "no pair of data_offsets");
  expectError(tensor("F32", "[2,3]", "[-1,24]"), "no pair of data_offsets");
  expectError(tensor("F32", "[2.0,3]", "[0,24]"), "no whole number");
  expectError(tensor("F32", "[-2,3]", "[0,24]"), "no whole number");
  expectError(tensor("F32", "\"x\"", "[0,24]"), "no shape");
  // 2^62 x 4 bytes x 2 overflows; so would 2^63 alone.
  expectError(tensor("F32", "[4611686018427387904,2]", "[0,24]"), "overflows");
  expectError(tensor("F32", "[9223372036854775808]", "[0,24]"),
              "no whole number");
  expectError("{\"a\":5}", "not an object");
  expectError("{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24],"
              "\"x\":1}}",
              "not an object of dtype");
  expectError("[]", "not an object");
  expectError("{}", "24 bytes of data belong to no tensor");
}

TEST_F(Safetensors, RefusesGapsAndOverlaps) {
  auto two = [](const char *a, const char *b) {
    return std::string("{\"a\":{\"dtype\":\"U8\",\"shape\":[12],\"data_"
                       "offsets\":") +
           a +
           "},\"b\":{\"dtype\":\"U8\",\"shape\":[12],\"data_offsets\":" + b +
           "}}";
  };
  EXPECT_EQ(errorOf(two("[12,24]", "[0,12]")), "");
  expectError(two("[0,12]", "[11,23]"), "overlaps");
  expectError(two("[0,12]", "[0,12]"), "overlaps");
  expectError(tensor("U8", "[12]", "[12,24]"), "follows a gap");
  expectError(tensor("U8", "[12]", "[0,12]"), "belong to no tensor");
}

TEST_F(Safetensors, RefusesBadHeaders) {
  for (const std::string &bytes :
       {std::string(), std::string("1234567"), std::string(8, '\xFF'),
        withHeader("{", 0), std::string("\x40\0\0\0\0\0\0\0{}", 10),
        withHeader(std::string(1000, '['), 0)}) {
    writeRaw(bytes);
    EXPECT_FALSE(SafetensorsFile::open(path).isOk());
  }
  EXPECT_FALSE(SafetensorsFile::open(path + ".missing").isOk());
  EXPECT_FALSE(SafetensorsFile::open("/tmp").isOk());
  EXPECT_FALSE(SafetensorsFile::open("/dev/zero").isOk());
}

TEST_F(Safetensors, SurvivesMutations) {
  std::string good = withHeader(tensor("F32", "[2,3]", "[0,24]"));
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0)
      bytes.resize(random() % bytes.size());
    writeRaw(bytes);
    Result<SafetensorsFile> file = SafetensorsFile::open(path);
    accepted += file.isOk();
    // Whatever is accepted can be read to its last byte.
    if (file.isOk())
      for (const TensorView &view : file.value().tensors())
        xxh64(view.data, view.bytes);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 3000);
}

TEST_F(Safetensors, RoundTrip) {
  const float small[] = {1, 2, 3};
  const double wide[] = {4, 5};
  const int64_t shapeSmall[] = {3}, shapeWide[] = {1, 2};
  SafetensorsWriter writer;
  writer.add("z.small", ECH_F32, shapeSmall, 1, small, sizeof(small));
  writer.add("a \"quoted\"", ECH_F32, shapeSmall, 1, small, sizeof(small));
  writer.add("wide", ECH_F64, shapeWide, 2, wide, sizeof(wide));
  writer.finish();
  SafetensorsWriter::Written written;
  ASSERT_TRUE(writer.write(path.c_str(), written).isOk());
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.isOk()) << file.status().message;
  EXPECT_EQ(written.bytes, file.value().file().size());
  EXPECT_EQ(written.hash, xxh64(file.value().file().data(), written.bytes));
  ASSERT_EQ(file.value().tensors().size(), 3u);
  const TensorView *view = file.value().find("wide");
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->dtype, "F64");
  EXPECT_EQ(view->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(memcmp(view->data, wide, sizeof(wide)), 0);
  // Wide elements come first, at a multiple of 64 in the file.
  EXPECT_EQ((view->data - file.value().file().data()) % 64, 0);
  EXPECT_EQ(memcmp(file.value().find("a \"quoted\"")->data, small, 12), 0);
  EXPECT_EQ(file.value().find("b"), nullptr);
}

TEST_F(Safetensors, AFullDiskIsCode74) {
  const float value = 1;
  const int64_t shape[] = {1};
  SafetensorsWriter writer;
  writer.add("a", ECH_F32, shape, 1, &value, 4);
  writer.finish();
  SafetensorsWriter::Written written;
  EXPECT_EQ(writer.write("/dev/full", written).code, ECH_EXIT_DISK);
  EXPECT_EQ(writer.write("/nowhere/x", written).code, ECH_EXIT_DISK);
}

} // namespace
