// SPDX-License-Identifier: Apache-2.0
//
// The check of ECHELON_* variables.
#include "runtime/base/environment.h"

#include "runtime/base/suggest.h"

namespace echelon::runtime {

std::string environmentName(std::string_view flag) {
  while (!flag.empty() && flag.front() == '-')
    flag.remove_prefix(1);
  std::string name = "ECHELON_";
  for (char c : flag)
    name += c == '-' ? '_' : (c >= 'a' && c <= 'z') ? char(c - 'a' + 'A') : c;
  return name;
}

Status checkEnvironment(const char *const *environment,
                        const std::vector<std::string> &known) {
  std::vector<std::string_view> names(known.begin(), known.end());
  for (; environment && *environment; ++environment) {
    std::string_view entry = *environment;
    if (entry.substr(0, 8) != "ECHELON_")
      continue;
    std::string_view name = entry.substr(0, entry.find('='));
    bool isKnown = false;
    for (std::string_view candidate : names)
      isKnown |= candidate == name;
    if (!isKnown)
      return failure(ECH_EXIT_USAGE, "unknown environment variable %.*s%s",
                     static_cast<int>(name.size()), name.data(),
                     suggestion(name, names).c_str());
  }
  return {};
}

} // namespace echelon::runtime
