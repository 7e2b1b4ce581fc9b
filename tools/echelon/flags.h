// SPDX-License-Identifier: Apache-2.0
//
// The flags of one subcommand: declared once, they give strict parsing and the
// help text. `--name value` and `--name=value` are the same; `--` ends the
// flags; an unknown flag names the nearest known one.
#ifndef ECHELON_TOOLS_ECHELON_FLAGS_H
#define ECHELON_TOOLS_ECHELON_FLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace echelon {

class Flags {
public:
  /// `usage` follows the program's name ("data tokenize [flags] IN..."), the
  /// summary is one sentence.
  Flags(std::string usage, std::string summary);

  /// Declarations. A flag is written with its dashes ("--seed", "-o"); `target`
  /// keeps its value, the default, when the flag is absent. `value` names the
  /// argument in the help text.
  void boolean(const char *flag, bool &target, const char *help);
  void text(const char *flag, const char *value, std::string &target,
            const char *help);
  void integer(const char *flag, const char *value, int64_t &target,
               int64_t low, int64_t high, const char *help);
  void number(const char *flag, const char *value, double &target, double low,
              double high, const char *help);
  /// One of `words`.
  void choice(const char *flag, const char *value, std::string &target,
              std::vector<std::string> words, const char *help);
  /// May be given several times; the values gather in order.
  void list(const char *flag, const char *value,
            std::vector<std::string> &target, const char *help);
  /// The flag declared last must be given.
  void required();
  /// Arguments that are no flags: between `least` and `most` of them.
  void positional(const char *name, size_t least, size_t most,
                  std::vector<std::string> &target);
  /// A line at the end of the help text.
  void example(std::string command);

  /// Parses all of `args`. On error nothing may be assumed of the targets.
  /// `--help` and `-h` win over every error: then wantsHelp() is true.
  llvm::Error parse(llvm::ArrayRef<llvm::StringRef> args);

  bool wantsHelp() const { return helpWanted; }
  /// Whether the flag stood on the command line.
  bool isGiven(llvm::StringRef flag) const;

  std::string help() const;

private:
  struct Flag {
    std::string name, value, help;
    bool isList = false, isRequired = false, isGiven = false;
    /// Stores one value; the text says what is wrong with it, or is empty.
    std::function<std::string(llvm::StringRef)> store;
  };

  Flag &add(const char *flag, const char *value, const char *help);
  Flag *find(llvm::StringRef name);
  llvm::Error unknownFlag(llvm::StringRef name) const;
  /// Takes the flag at `args[at]` with its value; `at` moves past them.
  llvm::Error takeFlag(llvm::ArrayRef<llvm::StringRef> args, size_t &at);
  llvm::Error checkComplete() const;

  std::string usage, summary;
  std::vector<Flag> flags;
  std::vector<std::string> examples;
  const char *positionalName = nullptr;
  size_t leastPositional = 0, mostPositional = 0;
  std::vector<std::string> *positionals = nullptr;
  bool helpWanted = false;
};

/// What every run...Command does first: parses, prints the help text to stdout
/// or the error with a pointer to --help to stderr. The result is the exit code
/// to return at once (0 after help, 2 after an error), or -1 to go on.
int parseOrExit(Flags &flags, llvm::ArrayRef<llvm::StringRef> args);

/// Prints `error: <text>` to stderr and returns the exit code that belongs to
/// the error (docs/conventions.md).
int reportError(llvm::Error error);

/// 1234567 as "1,234,567".
std::string withThousands(int64_t value);

} // namespace echelon

#endif
