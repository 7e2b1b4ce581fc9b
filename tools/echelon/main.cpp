// SPDX-License-Identifier: Apache-2.0
//
// echelon: the one command. Each subcommand is a file beside this one.
#include "compiler/spec/suggest.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/echelon/compile_command.h"
#include "tools/echelon/data_command.h"
#include "tools/echelon/doctor_command.h"
#include "tools/echelon/inspect_command.h"
#include "tools/echelon/train_command.h"
#include "tools/echelon/zoo_command.h"
#include <csignal>

using namespace echelon;

namespace {

struct Subcommand {
  const char *name;
  int (*run)(llvm::ArrayRef<llvm::StringRef>);
  const char *summary;
};

constexpr Subcommand kSubcommands[] = {
    {"train", runTrainCommand, "compile a model and run the training binary"},
    {"compile", runCompileCommand, "compile a model and a training spec into a training binary"},
    {"inspect", runInspectCommand, "show a model's ops, parameters, FLOPs and memory"},
    {"zoo", runZooCommand, "write a GPT or Llama shaped ONNX model of any size"},
    {"data", runDataCommand, "make token files from text"},
    {"doctor", runDoctorCommand, "check this machine and measure its peak"},
};

void printHelp() {
  llvm::outs() << "usage: echelon <command> [flags]\n\n"
                  "Compiles an ONNX model and a training spec into one training binary.\n\ncommands:\n";
  for (const Subcommand &command : kSubcommands)
    llvm::outs() << llvm::format("  %-10s", command.name) << command.summary << "\n";
  llvm::outs() << "\n`echelon <command> --help` shows its flags. `echelon --version` prints the version.\n";
}

} // namespace

int main(int argc, char **argv) {
  // A full disk or a size limit must come back as an error of the write, not as the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::SmallVector<llvm::StringRef> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    printHelp();
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--version") {
    llvm::outs() << "echelon " ECHELON_VERSION "\n";
    return 0;
  }
  llvm::SmallVector<llvm::StringRef> names;
  for (const Subcommand &command : kSubcommands) {
    if (arguments[0] == command.name)
      return command.run(llvm::ArrayRef(arguments).drop_front());
    names.push_back(command.name);
  }
  llvm::errs() << "error: unknown command \"" << arguments[0] << "\"" << suggestion(arguments[0], names) << "\n";
  return 2;
}
