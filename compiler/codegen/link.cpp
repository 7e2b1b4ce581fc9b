// SPDX-License-Identifier: Apache-2.0
//
// Links the training binary: lld through the C++ driver, which knows where crt files and libstdc++.a are.
#include "compiler/codegen/codegen.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <fcntl.h>

using namespace llvm;

// A sanitized build's archives need the sanitizer's runtime, and so the compiler that made them.
#ifndef ECHELON_SANITIZER_FLAG
#define ECHELON_SANITIZER_FLAG ""
#endif

namespace echelon {

static Error linkError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

static Expected<std::string> findProgram(ArrayRef<StringRef> names, StringRef package) {
  for (StringRef name : names)
    if (auto path = sys::findProgramByName(name))
      return *path;
  return linkError("cannot link: none of " + join(names, ", ") + " is installed; install " + package);
}

/// The errno of writing a binary's bytes to `path`; none if there is room. Asked after a failed link: the linker's own
/// words about a full disk, or a crash of it over a file size limit, say little.
static std::error_code writeFault(StringRef path) {
  constexpr off_t kMostBinaryBytes = 1 << 20;
  int file = -1;
  std::error_code code = sys::fs::openFileForWrite(path, file);
  if (!code) {
    code = std::error_code(posix_fallocate(file, 0, kMostBinaryBytes), std::generic_category());
    sys::Process::SafelyCloseFileDescriptor(file);
    sys::fs::remove(path);
  }
  return code ? code : inconvertibleErrorCode();
}

Error linkBinary(StringRef object, StringRef libraryDirectory, StringRef path) {
  constexpr StringLiteral sanitizer(ECHELON_SANITIZER_FLAG);
  Expected<std::string> driver = sanitizer.empty() ? findProgram({"g++", "clang++-19"}, "g++")
                                                   : findProgram({"clang++-19"}, "clang-19");
  if (!driver)
    return driver.takeError();
  Expected<std::string> linker = findProgram({"ld.lld-19", "ld.lld"}, "lld-19");
  if (!linker)
    return linker.takeError();
  SmallString<128> runtime(libraryDirectory), kernels(libraryDirectory);
  sys::path::append(runtime, "libechelon_runtime.a");
  sys::path::append(kernels, "libEchelonKernels.a");
  for (StringRef library : {runtime.str(), kernels.str()})
    if (!sys::fs::exists(library))
      return linkError("cannot link: '" + library + "' is missing; reinstall echelon");

  SmallString<128> toolDirectory("/usr/lib/llvm-19/bin");
  std::string prefix = ("-B" + toolDirectory).str();
  SmallString<128> log;
  if (std::error_code code = sys::fs::createTemporaryFile("echelon-link", "log", log))
    return linkError("cannot write a temporary file: " + code.message());
  SmallVector<StringRef> arguments = {*driver, prefix, "-fuse-ld=lld", "-static-libstdc++", "-static-libgcc",
                                      "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-s", "-Wl,-z,now", object,
                                      runtime, kernels, "-lm", "-lpthread", "-o", path};
  if (!sanitizer.empty())
    arguments.push_back(sanitizer);
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  std::string message;
  int code = sys::ExecuteAndWait(*driver, arguments, std::nullopt, redirects, 0, 0, &message);
  Error error = Error::success();
  if (code != 0) {
    auto text = MemoryBuffer::getFile(log);
    StringRef words = text ? (*text)->getBuffer().take_front(2000) : StringRef();
    error = joinErrors(std::move(error), createStringError(writeFault(path), "linking '" + path + "' failed: " +
                                                                                  message + "\n" + words.rtrim()));
  }
  sys::fs::remove(log);
  return error;
}

} // namespace echelon
