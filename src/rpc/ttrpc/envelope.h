// What is in the frames of a call (rpc/ttrpc/ttrpc.proto): which method is called with what, and what it
// answers. The payload is a message of the method's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::rpc::ttrpc {

struct Request {
  std::string service;  // "nri.pkg.api.v1alpha1.Plugin"
  std::string method;   // "Configure"
  std::string payload;
  friend bool operator==(const Request&, const Request&) = default;
};

/// Those of gRPC's codes that are used here. A plugin that just fails answers Unknown.
enum class StatusCode : std::int32_t {
  Ok = 0,
  Unknown = 2,
  InvalidArgument = 3,
  FailedPrecondition = 9,
  Unimplemented = 12,
};

struct Response {
  StatusCode code = StatusCode::Ok;  // another number may stand in one that was read
  std::string message{};
  std::string payload{};
  friend bool operator==(const Response&, const Response&) = default;
};

/// A refusal that anybody can read: what is no UTF-8 in `message` becomes '?', and the end of a long one
/// goes.
[[nodiscard]] Response refusal(StatusCode code, std::string_view message);
inline constexpr std::size_t kMostOfAMessage = 1024;  // an event of a pod holds no more

/// Errors Invalid: not such a message.
[[nodiscard]] Result<Request> parseRequest(const std::string& bytes);
[[nodiscard]] Result<Response> parseResponse(const std::string& bytes);
[[nodiscard]] std::string printRequest(const Request& request);
[[nodiscard]] std::string printResponse(const Response& response);

}  // namespace gs::rpc::ttrpc
