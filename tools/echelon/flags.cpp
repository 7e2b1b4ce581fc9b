// SPDX-License-Identifier: Apache-2.0
//
// Parsing and help of a subcommand's flags.
#include "tools/echelon/flags.h"
#include "compiler/spec/json_tree.h"
#include "compiler/spec/output_file.h"
#include "compiler/spec/suggest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace echelon {

namespace {

constexpr int kExitUsage = 2;
// Where the help column starts; longer flags get a line of their own.
constexpr size_t kHelpColumn = 26;

llvm::Error fault(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

/// Names come from files: a terminal must not obey them.
std::string printable(llvm::StringRef text) {
  std::string valid = llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
  std::string shown;
  for (char c : valid)
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return shown;
}

} // namespace

Flags::Flags(std::string usage, std::string summary)
    : usage(std::move(usage)), summary(std::move(summary)) {}

Flags::Flag &Flags::add(const char *flag, const char *value, const char *help) {
  flags.emplace_back();
  flags.back().name = flag;
  flags.back().value = value;
  flags.back().help = help;
  return flags.back();
}

void Flags::boolean(const char *flag, bool &target, const char *help) {
  add(flag, "", help).store = [&target](llvm::StringRef) {
    target = true;
    return std::string();
  };
}

void Flags::text(const char *flag, const char *value, std::string &target,
                 const char *help) {
  add(flag, value, help).store = [&target](llvm::StringRef text) {
    if (text.empty())
      return std::string("is empty");
    target = text.str();
    return std::string();
  };
}

void Flags::integer(const char *flag, const char *value, int64_t &target,
                    int64_t low, int64_t high, const char *help) {
  add(flag, value, help).store = [&target, low, high](llvm::StringRef text) {
    int64_t parsed = 0;
    if (text.getAsInteger(10, parsed))
      return "expects an integer, not \"" + text.str() + "\"";
    if (parsed < low || parsed > high)
      return "is " + text.str() + ", but must be in [" + std::to_string(low) +
             ", " + std::to_string(high) + "]";
    target = parsed;
    return std::string();
  };
}

void Flags::number(const char *flag, const char *value, double &target,
                   double low, double high, const char *help) {
  add(flag, value, help).store = [&target, low, high](llvm::StringRef text) {
    double parsed = 0;
    if (text.getAsDouble(parsed) || !std::isfinite(parsed))
      return "expects a number, not \"" + text.str() + "\"";
    if (parsed < low || parsed > high)
      return "is " + text.str() + ", but must be in [" + jsonNumberText(low) +
             ", " + jsonNumberText(high) + "]";
    target = parsed;
    return std::string();
  };
}

void Flags::choice(const char *flag, const char *value, std::string &target,
                   std::vector<std::string> words, const char *help) {
  add(flag, value, help).store = [&target,
                                  words = std::move(words)](llvm::StringRef text) {
    if (llvm::is_contained(words, text)) {
      target = text.str();
      return std::string();
    }
    llvm::SmallVector<llvm::StringRef> known(words.begin(), words.end());
    return "does not know \"" + text.str() + "\"" + suggestion(text, known);
  };
}

void Flags::list(const char *flag, const char *value,
                 std::vector<std::string> &target, const char *help) {
  Flag &added = add(flag, value, help);
  added.isList = true;
  added.store = [&target](llvm::StringRef text) {
    target.push_back(text.str());
    return std::string();
  };
}

void Flags::required() { flags.back().isRequired = true; }

void Flags::positional(const char *name, size_t least, size_t most,
                       std::vector<std::string> &target) {
  positionalName = name;
  leastPositional = least;
  mostPositional = most;
  positionals = &target;
}

void Flags::example(std::string command) {
  examples.push_back(std::move(command));
}

Flags::Flag *Flags::find(llvm::StringRef name) {
  for (Flag &flag : flags)
    if (flag.name == name)
      return &flag;
  return nullptr;
}

bool Flags::isGiven(llvm::StringRef name) const {
  for (const Flag &flag : flags)
    if (flag.name == name)
      return flag.isGiven;
  return false;
}

llvm::Error Flags::unknownFlag(llvm::StringRef name) const {
  llvm::SmallVector<llvm::StringRef> known;
  for (const Flag &flag : flags)
    known.push_back(flag.name);
  known.push_back("--help");
  return fault("unknown flag " + name + suggestion(name, known));
}

llvm::Error Flags::takeFlag(llvm::ArrayRef<llvm::StringRef> args, size_t &at) {
  auto [name, inlineValue] = args[at].split('=');
  bool hasInline = args[at].contains('=');
  ++at;
  Flag *flag = find(name);
  if (!flag)
    return unknownFlag(name);
  if (flag->isGiven && !flag->isList)
    return fault(name + " is given twice");
  flag->isGiven = true;
  llvm::StringRef value;
  if (flag->value.empty()) {
    if (hasInline)
      return fault(name + " takes no value, but got \"" + inlineValue + "\"");
  } else if (hasInline) {
    value = inlineValue;
  } else {
    // A negative number is a value; another flag is not.
    if (at == args.size() || find(args[at].split('=').first) ||
        args[at].starts_with("--"))
      return fault(name + " needs a value: " + name + " " + flag->value);
    value = args[at++];
  }
  std::string wrong = flag->store(value);
  if (!wrong.empty())
    return fault(name + " " + wrong);
  return llvm::Error::success();
}

llvm::Error Flags::checkComplete() const {
  for (const Flag &flag : flags)
    if (flag.isRequired && !flag.isGiven)
      return fault(llvm::Twine(flag.name) + " is missing: " + flag.name + " " +
                   flag.value + ", " + flag.help);
  if (positionals && positionals->size() < leastPositional)
    return fault(llvm::Twine(positionalName) + " is missing");
  return llvm::Error::success();
}

llvm::Error Flags::parse(llvm::ArrayRef<llvm::StringRef> args) {
  for (llvm::StringRef arg : args) {
    if (arg == "--")
      break;
    helpWanted |= arg == "--help" || arg == "-h";
  }
  if (helpWanted)
    return llvm::Error::success();
  bool isPastFlags = false;
  for (size_t at = 0; at < args.size();) {
    llvm::StringRef arg = args[at];
    if (!isPastFlags && arg == "--") {
      isPastFlags = true;
      ++at;
    } else if (!isPastFlags && arg.size() > 1 && arg[0] == '-') {
      if (llvm::Error error = takeFlag(args, at))
        return error;
    } else {
      if (!positionals || positionals->size() == mostPositional)
        return fault("unexpected argument \"" + arg + "\"");
      positionals->push_back(arg.str());
      ++at;
    }
  }
  return checkComplete();
}

std::string Flags::help() const {
  std::string text = "usage: echelon " + usage + "\n\n" + summary + "\n\n";
  for (const Flag &flag : flags) {
    std::string left = "  " + flag.name;
    if (!flag.value.empty())
      left += " " + flag.value;
    if (left.size() + 2 > kHelpColumn)
      left += "\n" + std::string(kHelpColumn, ' ');
    else
      left += std::string(kHelpColumn - left.size(), ' ');
    text += left + flag.help + (flag.isRequired ? " (required)" : "") + "\n";
  }
  if (!examples.empty())
    text += "\nexamples:\n";
  for (const std::string &command : examples)
    text += "  " + command + "\n";
  return text;
}

int parseOrExit(Flags &flags, llvm::ArrayRef<llvm::StringRef> args) {
  llvm::Error error = flags.parse(args);
  if (error) {
    llvm::errs() << "error: " << llvm::toString(std::move(error))
                 << "\nhelp: --help lists the flags\n";
    return kExitUsage;
  }
  if (!flags.wantsHelp())
    return -1;
  llvm::outs() << flags.help();
  return 0;
}

int reportError(llvm::Error error) {
  std::string message;
  int code = exitCodeOf(std::move(error), message);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(message).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    bool belongsAbove = line.starts_with(" ") || line.starts_with("note: ");
    llvm::errs() << (belongsAbove ? "" : "error: ") << printable(line) << "\n";
  }
  return code;
}

std::string withThousands(int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return (value < 0 ? "-" : "") + digits;
}

} // namespace echelon
