// What was asked of the API server, a line per request, for tests that judge a client by it:
//
//   WHO VERB RESOURCE.GROUP SUBRESOURCE NAMESPACE NAME CODE       "-" for what a request has not
//
// WHO is the bearer token that came with it, which nobody checks. A watch is one line,
// when it is answered. Any thread.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "apiserver/registry/resources.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/http_types.h"

namespace gs::sandbox {

class RequestLog {
 public:
  /// Appends to `path`. Error: the file cannot be written.
  static Result<std::unique_ptr<RequestLog>> open(const std::string& path);
  void add(const net::Request& request, const apiserver::Route& route, int code);

 private:
  explicit RequestLog(std::ofstream out) : out_{std::move(out)} {}

  Mutex mutex_;
  std::ofstream out_ GS_GUARDED_BY(mutex_);
};

/// The bearer token, which nobody checks; "": there is none, or it is no word.
[[nodiscard]] std::string whoSent(const net::Request& request);
/// get, list, watch, create, update, patch, delete or deletecollection.
[[nodiscard]] std::string verbOf(const std::string& method, const apiserver::Route& route);

}  // namespace gs::sandbox
