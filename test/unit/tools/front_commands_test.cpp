// SPDX-License-Identifier: Apache-2.0
//
// The flag parser and the commands that need no compiler: data, doctor, zoo.
// Commands run in the test's process; their files are read back.
#include "tools/echelon/data_command.h"
#include "tools/echelon/doctor_command.h"
#include "tools/echelon/doctor_machine.h"
#include "tools/echelon/flags.h"
#include "tools/echelon/zoo_command.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/resource.h>

namespace echelon {
namespace {

namespace fs = std::filesystem;

struct Values {
  bool fast = false;
  std::string output;
  int64_t layers = 12;
  double ratio = 0;
  std::vector<std::string> sets, inputs;
};

Flags declare(Values &values) {
  Flags flags("demo [flags] IN...", "A command.");
  flags.boolean("--fast", values.fast, "be fast");
  flags.text("-o", "FILE", values.output, "the output");
  flags.required();
  flags.integer("--layers", "N", values.layers, 1, 100, "blocks");
  flags.number("--ratio", "R", values.ratio, -1, 1, "a ratio");
  flags.list("--set", "K=V", values.sets, "an override");
  flags.positional("IN", 0, 2, values.inputs);
  return flags;
}

std::string faultOf(std::vector<llvm::StringRef> args) {
  Values values;
  llvm::Error error = declare(values).parse(args);
  return error ? llvm::toString(std::move(error)) : "";
}

TEST(Flags, ReadsEverySpelling) {
  Values values;
  Flags flags = declare(values);
  llvm::Error error =
      flags.parse({"a", "--layers=3", "--ratio", "-0.5", "--set", "x=1",
                   "--set=y=2", "--fast", "-o", "out", "--", "--b"});
  ASSERT_FALSE(static_cast<bool>(error));
  EXPECT_TRUE(values.fast);
  EXPECT_EQ(values.output, "out");
  EXPECT_EQ(values.layers, 3);
  EXPECT_EQ(values.ratio, -0.5);
  EXPECT_EQ(values.sets, (std::vector<std::string>{"x=1", "y=2"}));
  EXPECT_EQ(values.inputs, (std::vector<std::string>{"a", "--b"}));
  EXPECT_TRUE(flags.isGiven("--layers"));
}

TEST(Flags, AbsentFlagsKeepTheirDefaults) {
  Values values;
  Flags flags = declare(values);
  ASSERT_FALSE(static_cast<bool>(flags.parse({"-o", "out"})));
  EXPECT_EQ(values.layers, 12);
  EXPECT_FALSE(flags.isGiven("--layers"));
}

TEST(Flags, NamesWhatIsWrong) {
  EXPECT_EQ(faultOf({"--layer", "3"}),
            "unknown flag --layer, did you mean '--layers'?");
  EXPECT_EQ(faultOf({"--layers", "x", "-o", "f"}),
            "--layers expects an integer, not \"x\"");
  EXPECT_EQ(faultOf({"--layers", "101", "-o", "f"}),
            "--layers is 101, but must be in [1, 100]");
  EXPECT_EQ(faultOf({"--layers", "99999999999999999999", "-o", "f"}),
            "--layers expects an integer, not \"99999999999999999999\"");
  EXPECT_EQ(faultOf({"--ratio", "nan", "-o", "f"}),
            "--ratio expects a number, not \"nan\"");
  EXPECT_EQ(faultOf({"--ratio=2", "-o", "f"}),
            "--ratio is 2, but must be in [-1, 1]");
  EXPECT_EQ(faultOf({"-o", "f", "-o", "g"}), "-o is given twice");
  EXPECT_EQ(faultOf({"-o"}), "-o needs a value: -o FILE");
  EXPECT_EQ(faultOf({"-o", "--fast"}), "-o needs a value: -o FILE");
  EXPECT_EQ(faultOf({"-o="}), "-o is empty");
  EXPECT_EQ(faultOf({"--fast=1"}), "--fast takes no value, but got \"1\"");
  EXPECT_EQ(faultOf({"--fast"}), "-o is missing: -o FILE, the output");
  EXPECT_EQ(faultOf({"-o", "f", "a", "b", "c"}), "unexpected argument \"c\"");
}

TEST(Flags, HelpWinsAndListsEverything) {
  Values values;
  Flags flags = declare(values);
  ASSERT_FALSE(static_cast<bool>(flags.parse({"--nonsense", "--help"})));
  EXPECT_TRUE(flags.wantsHelp());
  std::string help = flags.help();
  for (const char *flag : {"--fast", "-o FILE", "--layers N", "--set K=V"})
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
}

/// A folder that is gone afterwards, and the commands' output out of the way.
class FrontTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "front-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const char *name) const { return (folder / name).string(); }

  std::string write(const char *name, const std::string &text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  std::vector<uint16_t> tokens(const char *name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    std::string text = bytes.str();
    EXPECT_EQ(text.size() % 2, 0u);
    std::vector<uint16_t> result;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
      result.push_back(
          static_cast<uint16_t>(static_cast<unsigned char>(text[i]) |
                                static_cast<unsigned char>(text[i + 1]) << 8));
    return result;
  }

  size_t fileCount() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder),
                                             fs::directory_iterator()));
  }

  int data(std::vector<std::string> args) {
    return run(runDataCommand, std::move(args));
  }

  /// Runs a command; `errors` holds what it wrote to stderr, `output` to
  /// stdout.
  int run(int (*command)(llvm::ArrayRef<llvm::StringRef>),
          std::vector<std::string> args) {
    std::vector<llvm::StringRef> refs(args.begin(), args.end());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    int code = command(refs);
    llvm::outs().flush();
    output = ::testing::internal::GetCapturedStdout();
    errors = ::testing::internal::GetCapturedStderr();
    return code;
  }

  fs::path folder;
  std::string output, errors;
};

TEST_F(FrontTest, TokenizeJoinsFilesAndHoldsOut) {
  std::string a = write("a", std::string("\xff\x00z", 3)),
              b = write("b", "hello, all");
  EXPECT_EQ(data({"tokenize", "--bytes", a, b, "-o", path("f.bin")}), 0);
  EXPECT_EQ(tokens("f.bin"),
            (std::vector<uint16_t>{255, 0, 'z', 'h', 'e', 'l', 'l', 'o', ',',
                                   ' ', 'a', 'l', 'l'}));
  // 13 tokens, 0.2 of them: 2.6, rounded to 3.
  EXPECT_EQ(data({"tokenize", "--bytes", a, b, "-o", path("t.bin"), "--holdout",
                  "0.2", "--holdout-out", path("e.bin")}),
            0);
  EXPECT_EQ(tokens("t.bin").size(), 10u);
  EXPECT_EQ(tokens("e.bin"), (std::vector<uint16_t>{'a', 'l', 'l'}));
  EXPECT_NE(output.find("10 tokens"), std::string::npos) << output;
}

TEST_F(FrontTest, TokenizeStreamsBeyondItsBuffer) {
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text.push_back(static_cast<char>(i * 7));
  std::string a = write("a", text);
  ASSERT_EQ(data({"tokenize", "--bytes", a, a, "-o", path("f.bin"),
                  "--holdout=0.5", "--holdout-out", path("e.bin")}),
            0);
  std::vector<uint16_t> first = tokens("f.bin");
  ASSERT_EQ(first.size(), text.size());
  for (size_t i = 0; i < first.size(); ++i)
    ASSERT_EQ(first[i], static_cast<unsigned char>(text[i])) << i;
  EXPECT_EQ(tokens("e.bin"), first);
}

TEST_F(FrontTest, TokenizeRefusesAndLeavesNothing) {
  std::string a = write("a", "text"), empty = write("empty", "");
  size_t before = fileCount();
  EXPECT_EQ(data({"tokenize", "--bytes", a, empty, "-o", path("f")}), 1);
  EXPECT_EQ(errors, "error: cannot read '" + empty +
                        "': the file is empty; leave it out\n");
  EXPECT_EQ(data({"tokenize", "--bytes", path("no"), "-o", path("f")}), 1);
  EXPECT_EQ(data({"tokenize", "--bytes", folder.string(), "-o", path("f")}), 1);
  EXPECT_EQ(data({"tokenize", "--bytes", a, "-o", a}), 1);
  EXPECT_EQ(data({"tokenize", "--bytes", a, "-o", path("no/f")}), 74);
  EXPECT_EQ(data({"tokenize", "--bytes", a, "-o", path("f"), "--holdout", "0.5",
                  "--holdout-out", path("no/f")}),
            74);
  EXPECT_EQ(data({"tokenize", a, "-o", path("f")}), 2);
  EXPECT_EQ(
      data({"tokenize", "--bytes", a, "-o", path("f"), "--holdout", "0.5"}), 2);
  EXPECT_EQ(data({"tokenise"}), 2);
  EXPECT_NE(errors.find("did you mean 'tokenize'?"), std::string::npos);
  EXPECT_EQ(data({}), 2);
  EXPECT_EQ(fileCount(), before);
}

TEST_F(FrontTest, AFolderIsNotOverwritten) {
  fs::create_directory(path("taken"));
  std::string a = write("a", "text");
  EXPECT_EQ(data({"tokenize", "--bytes", a, "-o", path("taken")}), 74);
  EXPECT_EQ(errors,
            "error: cannot write '" + path("taken") + "': Is a directory\n");
}

// A file size limit stops a write half way, as a full disk does.
TEST_F(FrontTest, AWriteThatStopsHalfWayLeavesTheOldFile) {
  std::string a = write("a", std::string(100000, 'x'));
  write("f.bin", "old!");
  size_t before = fileCount();
  rlimit old, small;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 70000;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  int tokenized = data({"tokenize", "--bytes", a, "-o", path("f.bin")});
  std::string dataErrors = errors;
  int built = run(runZooCommand, {"gpt", "--layers", "1", "--hidden", "64",
                                  "--heads", "2", "-o", path("m.onnx")});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(tokenized, 74);
  EXPECT_EQ(dataErrors,
            "error: cannot write '" + path("f.bin") + "': File too large\n");
  EXPECT_EQ(built, 74);
  EXPECT_EQ(tokens("f.bin").size(), 2u);
  EXPECT_EQ(fileCount(), before);
}

TEST_F(FrontTest, ZooWritesAndRefuses) {
  EXPECT_EQ(run(runZooCommand,
                {"gpt", "--layers", "1", "--hidden", "8", "--heads", "2",
                 "--vocab", "16", "--seq", "4", "-o", path("m.onnx")}),
            0);
  EXPECT_TRUE(fs::exists(path("m.onnx")));
  EXPECT_EQ(run(runZooCommand, {"gtp", "-o", path("n.onnx")}), 2);
  EXPECT_NE(errors.find("did you mean 'gpt'?"), std::string::npos);
  EXPECT_EQ(run(runZooCommand, {"gpt", "--hidden", "10", "--heads", "3", "-o",
                                path("n.onnx")}),
            1);
  EXPECT_EQ(errors, "error: --hidden 10 is not a multiple of --heads 3\n");
  EXPECT_EQ(run(runZooCommand, {"gpt", "--layers", "1", "--hidden", "8",
                                "--heads", "2", "-o", path("no/m.onnx")}),
            74);
  EXPECT_FALSE(fs::exists(path("n.onnx")));
}

TEST_F(FrontTest, HelpFitsOneScreenWithExamples) {
  struct Case {
    int (*command)(llvm::ArrayRef<llvm::StringRef>);
    std::vector<std::string> args;
  } cases[] = {{runDataCommand, {"tokenize", "--help"}},
               {runDoctorCommand, {"--help"}},
               {runZooCommand, {"--help"}}};
  for (const Case &c : cases) {
    EXPECT_EQ(run(c.command, c.args), 0);
    EXPECT_LE(std::count(output.begin(), output.end(), '\n'), 40);
    EXPECT_NE(output.find("examples:"), std::string::npos);
  }
}

TEST_F(FrontTest, DoctorWritesItsFacts) {
  int code = run(runDoctorCommand, {"-o", path("sub/doctor.json")});
  EXPECT_TRUE(code == 0 || code == 4) << code << errors;
  std::ifstream file(path("sub/doctor.json"));
  nlohmann::json facts = nlohmann::json::parse(file, nullptr, false);
  ASSERT_FALSE(facts.is_discarded());
  EXPECT_EQ(code == 0, facts["missing"].empty());
  EXPECT_GE(facts["cores"], 1);
  EXPECT_GT(facts["memory_bytes"], 0);
  // Any core since 2005 gives 1 GFLOP/s; none gives 10 TFLOP/s.
  EXPECT_GT(facts["peak_flops_f32"], 1e9);
  EXPECT_LT(facts["peak_flops_f32"], 1e13);
  EXPECT_NE(output.find("f32 peak"), std::string::npos);
}

TEST(DoctorMachine, ReadsQuotas) {
  EXPECT_EQ(coresOfQuota("max 100000\n"), std::nullopt);
  EXPECT_EQ(coresOfQuota("200000 100000\n"), 2);
  EXPECT_EQ(coresOfQuota("150000 100000\n"), 1);
  EXPECT_EQ(coresOfQuota("50000 100000\n"), 1);
  EXPECT_EQ(coresOfQuota(""), std::nullopt);
  EXPECT_EQ(coresOfQuota("-1 100000"), std::nullopt);
}

TEST_F(FrontTest, CgroupLimitsBoundTheMachine) {
  for (const char *name : {"proc", "sys", "sys/fs", "sys/fs/cgroup"})
    fs::create_directory(path(name));
  write("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
  write("proc/cpuinfo", "processor : 0\nmodel name : Test CPU\n");
  MachineFacts facts = readMachineFacts(folder.string());
  EXPECT_EQ(facts.cpu, "Test CPU");
  EXPECT_EQ(facts.memoryBytes, 2048 * 1024);
  write("sys/fs/cgroup/memory.max", "1000000\n");
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  facts = readMachineFacts(folder.string());
  EXPECT_EQ(facts.memoryBytes, 1000000);
  EXPECT_EQ(facts.cores, 1);
  write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(readMachineFacts(folder.string()).memoryBytes, 2048 * 1024);
}

} // namespace
} // namespace echelon
