#include "rpc/ttrpc/envelope.h"

#include <ttrpc/ttrpc.pb.h>

#include <utility>

#include "base/utf8.h"

namespace gs::rpc::ttrpc {
namespace wire = ::ttrpc;

Response refusal(StatusCode code, std::string_view message) {
  std::string text;
  for (message = message.substr(0, 2 * kMostOfAMessage); !message.empty();) {
    const std::size_t length = utf8Length(message);
    text += length == 0 ? "?" : message.substr(0, length);
    message.remove_prefix(length == 0 ? 1 : length);
  }
  return {.code = code, .message = std::string{utf8Prefix(text, kMostOfAMessage)}};
}

Result<Request> parseRequest(const std::string& bytes) {
  wire::Request in;
  if (!in.ParseFromString(bytes)) { return fail(Code::Invalid, "not a request of ttrpc"); }
  return Request{.service = std::move(*in.mutable_service()),
                 .method = std::move(*in.mutable_method()),
                 .payload = std::move(*in.mutable_payload())};
}

Result<Response> parseResponse(const std::string& bytes) {
  wire::Response in;
  if (!in.ParseFromString(bytes)) { return fail(Code::Invalid, "not a response of ttrpc"); }
  return Response{.code = static_cast<StatusCode>(in.status().code()),
                  .message = in.status().message(),
                  .payload = std::move(*in.mutable_payload())};
}

std::string printRequest(const Request& request) {
  wire::Request out;
  out.set_service(request.service);
  out.set_method(request.method);
  out.set_payload(request.payload);
  return out.SerializeAsString();
}

std::string printResponse(const Response& response) {
  wire::Response out;
  if (response.code != StatusCode::Ok) {
    out.mutable_status()->set_code(static_cast<std::int32_t>(response.code));
    out.mutable_status()->set_message(response.message);
  }
  out.set_payload(response.payload);
  return out.SerializeAsString();
}

}  // namespace gs::rpc::ttrpc
