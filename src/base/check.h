// GS_CHECK(cond, "format {}", args...): a bug in this program stops it at once, with the message, the place
// and the stack on stderr. For what cannot happen; what the outside can cause is a Result. Restart is cheap
// in Kubernetes, a wrong ledger is not.
#pragma once

#include <fmt/core.h>

#include <string>

namespace gs {

[[noreturn]] void checkFailed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace gs

// The arguments after the condition are evaluated only when it is false.
#define GS_CHECK(cond, ...)                                                                              \
  do {                                                                                                   \
    if (!(cond)) [[unlikely]] {                                                                          \
      ::gs::checkFailed(__FILE__, __LINE__, #cond, std::string{__VA_OPT__(::fmt::format(__VA_ARGS__))}); \
    }                                                                                                    \
  } while (false)
