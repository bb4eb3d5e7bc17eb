// A client of a running `gpu-sandbox serve`: what `gpu-sandbox node` and `gpu-sandbox gpu` ask of it
// (admin.h).
// Errors are the server's own words, or say that no sandbox answered there.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "net/http_client.h"

namespace gs::sandbox {

class Remote {
 public:
  /// `url` such as "http://127.0.0.1:8001"; `tls` for https.
  explicit Remote(std::string url, net::ClientTls tls = {});

  /// A node file's content.
  Status addNodes(const json::Value& file);
  Status removeNode(const std::string& node);
  /// Evicts again until the node is empty; error Deadline names who is left after `limit`.
  /// `waits` is told of them whenever they are others.
  Status drainNode(const std::string& node, Duration limit, const Clock& clock,
                   const std::function<void(const std::string&)>& waits = {});
  /// `gpu`: its number, as it was written; the server says which there are.
  Status failGpu(const std::string& node, const std::string& gpu, int xid);
  Status repairGpu(const std::string& node, const std::string& gpu);

 private:
  Result<json::Value> send(const char* method, const std::string& path, const json::Value& body = {});

  std::string url_;
  net::HttpClient client_;
};

}  // namespace gs::sandbox
