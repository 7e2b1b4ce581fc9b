// SPDX-License-Identifier: Apache-2.0
//
// How the runtime reports failure: a Status carries the process exit code
// (runtime/abi/abi.h), where it happened and one sentence for the user; a
// Result is a value or a Status. Nothing in the runtime throws.
#ifndef ECHELON_RUNTIME_BASE_STATUS_H
#define ECHELON_RUNTIME_BASE_STATUS_H

#include "runtime/abi/abi.h"

#include <optional>
#include <string>
#include <utility>

namespace echelon::runtime {

/// Outcome of an operation. `code` is an ECH_EXIT_* value and 0 means success.
/// `step` is the 0-based training step, -1 outside of the loop; `place` names
/// an op or file where that helps. A successful Status owns no memory.
struct [[nodiscard]] Status {
  int code = ECH_EXIT_DONE;
  int rank = 0;
  int64_t step = -1;
  std::string place;
  std::string message;

  bool isOk() const { return code == ECH_EXIT_DONE; }
};

/// A failed Status with a printf-style message: lower case, no final period.
Status failure(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// A failed Status for a system call that set `errorNumber`: "<what> '<path>':
/// <strerror>".
Status systemFailure(int code, const char *what, const char *path,
                     int errorNumber);

/// Writes "error: ..." with step and place to stderr.
void printFailure(const Status &status);

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : stored(std::move(value)) {}
  Result(Status status) : failed(std::move(status)) {}

  bool isOk() const { return stored.has_value(); }
  const Status &status() const { return failed; }
  T &value() { return *stored; }
  const T &value() const { return *stored; }

private:
  std::optional<T> stored;
  Status failed;
};

} // namespace echelon::runtime

/// Returns the Status of `expression` from the enclosing function unless it is
/// a success.
#define ECH_RETURN_IF_FAILED(expression)                                       \
  do {                                                                         \
    ::echelon::runtime::Status echStatus = (expression);                       \
    if (!echStatus.isOk())                                                     \
      return echStatus;                                                        \
  } while (false)

#endif
