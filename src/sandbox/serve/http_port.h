// HTTP around the cluster: requests of kubectl and of clients in, the API server's answers out.
//
// Text only: bytes are read and printed on the caller's thread, what the API does is Api's (api.h) and happens on the
// owner's thread of Live. JSON everywhere; Tables where asked for (as=Table); YAML bodies; protobuf bodies of two kinds
// (protobuf_body.h). No authentication: whoever reaches the port may do everything.
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
