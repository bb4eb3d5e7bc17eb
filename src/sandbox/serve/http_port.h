// HTTP around the cluster: requests of kubectl and of clients in, the API server's answers out.
//
// Bodies are read and printed on the caller's thread; what the API does (apiserver/handlers/api.h) happens on
// the owner's thread of Live, which has no time for text. Answers are JSON, Tables where asked for
// (as=Table), text of logs. Bodies are JSON, YAML, or protobuf of the kinds that kubectl sends so
// (apiserver/wire/protobuf_body.h). The paths below /sandbox/v1 are for machines and faults (admin.h). No
// authentication: whoever reaches the port may do everything.
// Any thread; `live` must outlive it, and the streams that it answers with; so must the log, if there is one.
#pragma once

#include <string>

#include "apiserver/present/openapi.h"
#include "apiserver/wire/media.h"
#include "net/http_types.h"
#include "sandbox/serve/late_bindings.h"
#include "sandbox/serve/live.h"
#include "sandbox/serve/request_log.h"

namespace gs::sandbox {

class HttpPort {
 public:
  explicit HttpPort(Live& live, RequestLog* log = nullptr) : live_{live}, log_{log} {}

  [[nodiscard]] net::Response answer(const net::Request& request);
  /// Lets go of requests that a fault holds back, for good.
  void release() { late_.release(); }

 private:
  [[nodiscard]] net::Response openApi(std::string_view path);
  /// POST /sandbox/v1/faults/late-bindings {"seconds":N}
  [[nodiscard]] net::Response setLateBindings(const net::Request& request);
  [[nodiscard]] net::Response resource(const net::Request& request,
                                       const std::vector<apiserver::MediaRange>& accept);
  [[nodiscard]] net::Response unreadable(const apiserver::Request& request, const apiserver::ApiError& why);
  [[nodiscard]] net::Response watch(const apiserver::Request& request, const apiserver::Wanted& wanted);
  [[nodiscard]] net::Response carryOut(const apiserver::Request& request, const apiserver::Wanted& wanted);

  void note(const net::Request& request, int code);

  Live& live_;
  RequestLog* log_;
  LateBindings late_;
  apiserver::OpenApi documents_;  // touched on the owner's thread only
};

}  // namespace gs::sandbox
