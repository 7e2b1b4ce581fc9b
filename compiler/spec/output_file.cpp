// SPDX-License-Identifier: Apache-2.0
//
// llvm::sys::fs::TempFile with every error looked at.
#include "compiler/spec/output_file.h"
#include "llvm/Support/FileSystem.h"

namespace echelon {

namespace {

constexpr int kExitInput = 1; // docs/conventions.md: exit codes are an API
constexpr int kExitDisk = 74;

/// A failed write, so that callers can tell it from a wrong input.
class WriteError : public llvm::ErrorInfo<WriteError> {
public:
  static char ID;
  WriteError(llvm::StringRef path, std::error_code code)
      : path(path.str()), code(code) {}
  void log(llvm::raw_ostream &out) const override {
    out << "cannot write '" << path << "': " << code.message();
  }
  std::error_code convertToErrorCode() const override { return code; }

private:
  std::string path;
  std::error_code code;
};
char WriteError::ID;

} // namespace

llvm::Error makeWriteError(llvm::StringRef path, std::error_code code) {
  return llvm::make_error<WriteError>(path, code);
}

llvm::Error
writeWholeFile(llvm::StringRef path,
               llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (llvm::sys::fs::is_directory(path))
    return llvm::make_error<WriteError>(
        path, std::make_error_code(std::errc::is_a_directory));
  llvm::Expected<llvm::sys::fs::TempFile> file =
      llvm::sys::fs::TempFile::create(path + ".part-%%%%%%");
  if (!file)
    return llvm::make_error<WriteError>(
        path, llvm::errorToErrorCode(file.takeError()));
  llvm::Error error = llvm::Error::success();
  {
    llvm::raw_fd_ostream out(file->FD, /*shouldClose=*/false);
    error = write(out);
    out.flush();
    if (out.has_error()) {
      std::error_code code = out.error();
      out.clear_error(); // an unseen error would end the process
      llvm::consumeError(std::move(error));
      error = llvm::make_error<WriteError>(path, code);
    }
  }
  if (error) {
    llvm::consumeError(file->discard());
    return error;
  }
  if (llvm::Error renamed = file->keep(path))
    return llvm::make_error<WriteError>(
        path, llvm::errorToErrorCode(std::move(renamed)));
  return llvm::Error::success();
}

int exitCodeOf(llvm::Error error, std::string &message) {
  int code = error.isA<WriteError>() ? kExitDisk : kExitInput;
  message = llvm::toString(std::move(error));
  return code;
}

} // namespace echelon
