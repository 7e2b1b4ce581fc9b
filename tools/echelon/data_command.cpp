// SPDX-License-Identifier: Apache-2.0
//
// Byte tokens: every byte of the inputs, in order, is one token. Files are
// streamed, so their size is bounded by the disk only. A hold-out is the last
// fraction of the tokens, in a file of its own.
#include "tools/echelon/data_command.h"
#include "compiler/spec/output_file.h"
#include "compiler/spec/suggest.h"
#include "tools/echelon/flags.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <cmath>

namespace echelon {

namespace {

constexpr int kExitUsage = 2;
constexpr size_t kChunkBytes = size_t(1) << 16;

struct TokenizeOptions {
  std::vector<std::string> inputs;
  std::string output;
  double holdout = 0;
  std::string holdoutOutput;
};

llvm::Error inputFault(llvm::StringRef path, const llvm::Twine &reason) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "cannot read '" + path + "': " + reason);
}

llvm::Expected<int64_t> sizeOf(const std::string &path) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return inputFault(path, code.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return inputFault(path, "not a regular file");
  if (status.getSize() == 0)
    return inputFault(path, "the file is empty; leave it out");
  return static_cast<int64_t>(status.getSize());
}

/// Writing over an input would destroy it before it is read.
llvm::Error checkDistinct(const TokenizeOptions &options) {
  for (const std::string *output : {&options.output, &options.holdoutOutput})
    for (const std::string &input : options.inputs)
      if (!output->empty() && llvm::sys::fs::equivalent(*output, input))
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "the output '" + *output +
                                           "' is also an input");
  if (!options.holdoutOutput.empty() && options.holdoutOutput == options.output)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "-o and --holdout-out name the same file '" +
                                       options.output + "'");
  return llvm::Error::success();
}

/// Reads the inputs one after the other as one stream.
class ByteStream {
public:
  explicit ByteStream(const std::vector<std::string> &paths) : paths(paths) {}
  ~ByteStream() { close(); }

  /// Writes the next `count` bytes as tokens to `out`.
  llvm::Error copyTokens(int64_t count, llvm::raw_ostream &out) {
    while (count > 0) {
      size_t want = std::min<size_t>(buffer.size(), static_cast<size_t>(count));
      llvm::Expected<size_t> got = read(want);
      if (!got)
        return got.takeError();
      for (size_t i = 0; i < *got; ++i) {
        unsigned char byte = static_cast<unsigned char>(buffer[i]);
        seen[byte] = true;
        tokens[2 * i] = static_cast<char>(byte); // little endian; high byte 0
      }
      out.write(tokens.data(), 2 * *got);
      count -= static_cast<int64_t>(*got);
    }
    return llvm::Error::success();
  }

  int64_t distinct() const {
    return std::count(seen.begin(), seen.end(), true);
  }

private:
  /// Up to `want` bytes, at least one.
  llvm::Expected<size_t> read(size_t want) {
    while (true) {
      if (!isOpen) {
        if (next == paths.size())
          return inputFault(paths.back(), "it became shorter while being read");
        auto opened = llvm::sys::fs::openNativeFileForRead(paths[next]);
        if (!opened)
          return inputFault(paths[next], llvm::toString(opened.takeError()));
        file = *opened;
        isOpen = true;
      }
      auto got = llvm::sys::fs::readNativeFile(
          file, llvm::MutableArrayRef<char>(buffer.data(), want));
      if (!got)
        return inputFault(paths[next], llvm::toString(got.takeError()));
      if (*got > 0)
        return *got;
      close();
      ++next;
    }
  }

  void close() {
    if (isOpen)
      (void)llvm::sys::fs::closeFile(file);
    isOpen = false;
  }

  const std::vector<std::string> &paths;
  size_t next = 0;
  bool isOpen = false;
  llvm::sys::fs::file_t file = -1;
  std::array<char, kChunkBytes> buffer;
  std::array<char, 2 * kChunkBytes> tokens = {};
  std::array<bool, 256> seen = {};
};

/// The tokens that go to the hold-out: rounded, at least one of each part.
llvm::Expected<int64_t> holdoutCount(int64_t total, double fraction) {
  if (fraction == 0)
    return 0;
  if (total < 2)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "one token cannot be divided into training data and a hold-out");
  int64_t count = std::llround(static_cast<double>(total) * fraction);
  return std::clamp<int64_t>(count, 1, total - 1);
}

llvm::Error tokenize(const TokenizeOptions &options) {
  if (llvm::Error error = checkDistinct(options))
    return error;
  int64_t total = 0;
  for (const std::string &input : options.inputs) {
    llvm::Expected<int64_t> size = sizeOf(input);
    if (!size)
      return size.takeError();
    total += *size;
  }
  llvm::Expected<int64_t> heldOut = holdoutCount(total, options.holdout);
  if (!heldOut)
    return heldOut.takeError();
  auto stream = std::make_unique<ByteStream>(options.inputs);
  int64_t kept = total - *heldOut;
  // Nested, so that a failure of either leaves both names as they were.
  llvm::Error error = writeWholeFile(
      options.output, [&](llvm::raw_ostream &out) -> llvm::Error {
        if (llvm::Error failed = stream->copyTokens(kept, out))
          return failed;
        if (*heldOut == 0)
          return llvm::Error::success();
        return writeWholeFile(options.holdoutOutput,
                              [&](llvm::raw_ostream &rest) {
                                return stream->copyTokens(*heldOut, rest);
                              });
      });
  if (error)
    return error;
  llvm::outs() << "read " << withThousands(total) << " bytes of "
               << options.inputs.size() << " files, " << stream->distinct()
               << " of 256 byte values occur\n"
               << "wrote " << options.output << ": " << withThousands(kept)
               << " tokens (uint16)\n";
  if (*heldOut > 0)
    llvm::outs() << "wrote " << options.holdoutOutput << ": "
                 << withThousands(*heldOut) << " tokens (uint16), held out\n";
  return llvm::Error::success();
}

int runTokenize(llvm::ArrayRef<llvm::StringRef> args) {
  TokenizeOptions options;
  bool bytes = false;
  Flags flags("data tokenize --bytes IN... -o f.bin [flags]",
              "Writes the bytes of all inputs, in order, as a token file "
              "(uint16, little endian, no header).");
  flags.boolean("--bytes", bytes, "each byte is a token: vocabulary 256");
  flags.required();
  flags.text("-o", "FILE", options.output, "the token file to write");
  flags.required();
  flags.number("--holdout", "F", options.holdout, 0, 0.9,
               "fraction of the tokens, at the end, to keep from training");
  flags.text("--holdout-out", "FILE", options.holdoutOutput,
             "the token file for them");
  flags.positional("IN", 1, std::numeric_limits<size_t>::max(), options.inputs);
  flags.example("echelon data tokenize --bytes book.txt -o book.bin");
  flags.example("echelon data tokenize --bytes *.txt -o train.bin --holdout "
                "0.05 --holdout-out eval.bin");
  if (int code = parseOrExit(flags, args); code >= 0)
    return code;
  if ((options.holdout > 0) != !options.holdoutOutput.empty()) {
    llvm::errs() << "error: --holdout F and --holdout-out FILE go together\n";
    return kExitUsage;
  }
  if (llvm::Error error = tokenize(options))
    return reportError(std::move(error));
  return 0;
}

} // namespace

int runDataCommand(llvm::ArrayRef<llvm::StringRef> args) {
  if (!args.empty() && args[0] == "tokenize")
    return runTokenize(args.drop_front());
  const char *usage = "usage: echelon data tokenize --bytes IN... -o f.bin\n"
                      "help: echelon data tokenize --help\n";
  if (!args.empty() && (args[0] == "--help" || args[0] == "-h")) {
    llvm::outs() << usage;
    return 0;
  }
  if (args.empty())
    llvm::errs() << "error: data needs a verb\n";
  else
    llvm::errs() << "error: unknown verb \"" << args[0] << "\""
                 << suggestion(args[0], {"tokenize"}) << "\n";
  llvm::errs() << usage;
  return kExitUsage;
}

} // namespace echelon
