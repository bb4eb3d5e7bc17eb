// Result<T>: the value, or why there is none. For everything the outside can cause (input, network, disk,
// API); bugs use GS_CHECK, scheduling refusals are sched::Verdict values. A code exists only if some caller
// branches on it.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace gs {

enum class Code {
  Invalid,      // the input is wrong; the same input stays wrong
  NotFound,     // the named thing does not exist
  Conflict,     // somebody else changed it first; read again
  Unavailable,  // could not be reached or is not ready; trying later may help
  Deadline,     // no answer in time: the effect is unknown
  Internal,     // the other side failed in a way that says nothing more
};

/// `message` names object, field, value and fix (style: "pod ns/p: annotation x='y' is not ...; write ...").
struct Error {
  Code code{};
  std::string message;
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace gs
