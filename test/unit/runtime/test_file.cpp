// SPDX-License-Identifier: Apache-2.0
//
// Files: atomic replacement, failures that leave the old file whole, folders,
// mappings.
#include "runtime/base/file.h"

#include <gtest/gtest.h>

#include <csignal>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace echelon::runtime;

namespace {

class Files : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "echelon-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    for (const std::string &name : names())
      unlink((folder + "/" + name).c_str());
    rmdir(folder.c_str());
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    DIR *entries = opendir(folder.c_str());
    while (const dirent *entry = readdir(entries))
      if (entry->d_name[0] != '.')
        found.push_back(entry->d_name);
    closedir(entries);
    return found;
  }
  std::string content(const std::string &name) const {
    Result<std::string> text = readTextFile(folder + "/" + name, 1 << 20);
    return text.isOk() ? text.value() : "<" + text.status().message + ">";
  }
  Status replace(const std::string &name, const std::string &text) {
    AtomicFile file;
    ECH_RETURN_IF_FAILED(file.open(folder + "/" + name));
    ECH_RETURN_IF_FAILED(file.write(text.data(), text.size()));
    return file.commit();
  }

  std::string folder;
};

TEST_F(Files, AtomicReplacement) {
  ASSERT_TRUE(replace("a", "old").isOk());
  EXPECT_EQ(content("a"), "old");
  ASSERT_TRUE(replace("a", "new text").isOk());
  EXPECT_EQ(content("a"), "new text");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(Files, TheOldFileStaysUntilCommit) {
  ASSERT_TRUE(replace("a", "old").isOk());
  {
    AtomicFile file;
    ASSERT_TRUE(file.open(folder + "/a").isOk());
    ASSERT_TRUE(file.write("new", 3).isOk());
    EXPECT_EQ(content("a"), "old");
    EXPECT_EQ(names().size(), 2u);
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(Files, AFullDiskIsCode74AndKeepsTheOldFile) {
  ASSERT_TRUE(replace("a", "old").isOk());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = {100, before.rlim_max};
  auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  Status status = replace("a", std::string(1000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code, ECH_EXIT_DISK);
  EXPECT_NE(status.message.find("cannot write"), std::string::npos);
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(Files, Folders) {
  EXPECT_TRUE(createDirectories(folder + "/x/y/z").isOk());
  EXPECT_TRUE(createDirectories(folder + "/x/y/z").isOk());
  ASSERT_TRUE(replace("file", "").isOk());
  EXPECT_EQ(createDirectories(folder + "/file").code, ECH_EXIT_DISK);
  EXPECT_EQ(createDirectories(folder + "/file/x").code, ECH_EXIT_DISK);
  rmdir((folder + "/x/y/z").c_str());
  rmdir((folder + "/x/y").c_str());
  rmdir((folder + "/x").c_str());
}

TEST_F(Files, Mappings) {
  ASSERT_TRUE(replace("a", "hello").isOk());
  Result<MappedFile> file = MappedFile::open(folder + "/a");
  ASSERT_TRUE(file.isOk());
  MappedFile moved = std::move(file.value());
  EXPECT_EQ(
      std::string(reinterpret_cast<const char *>(moved.data()), moved.size()),
      "hello");
  ASSERT_TRUE(replace("empty", "").isOk());
  Result<MappedFile> empty = MappedFile::open(folder + "/empty");
  ASSERT_TRUE(empty.isOk());
  EXPECT_EQ(empty.value().size(), 0u);
  EXPECT_EQ(MappedFile::open(folder).status().code, ECH_EXIT_INPUT);
  EXPECT_EQ(MappedFile::open(folder + "/none").status().code, ECH_EXIT_INPUT);
  // A named pipe must not block the start.
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(folder + "/pipe").status().code, ECH_EXIT_INPUT);
}

TEST_F(Files, FingerprintsTellFilesApart) {
  std::string text(3 << 20, 'a');
  auto fingerprint = [&](const std::string &content) {
    EXPECT_TRUE(replace("f", content).isOk());
    return MappedFile::open(folder + "/f").value().fingerprint();
  };
  uint64_t first = fingerprint(text);
  EXPECT_EQ(first, fingerprint(text));
  EXPECT_NE(first, fingerprint(text + "a"));
  std::string changed = text;
  changed.back() = 'b';
  EXPECT_NE(first, fingerprint(changed));
  changed = text;
  changed.front() = 'b';
  EXPECT_NE(first, fingerprint(changed));
}

TEST_F(Files, LargeTextIsRefused) {
  ASSERT_TRUE(replace("a", "12345").isOk());
  EXPECT_TRUE(readTextFile(folder + "/a", 5).isOk());
  EXPECT_EQ(readTextFile(folder + "/a", 4).status().code, ECH_EXIT_INPUT);
}

} // namespace
