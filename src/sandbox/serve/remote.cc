#include "sandbox/serve/remote.h"

#include <fmt/format.h>

#include <utility>

#include "base/mailbox.h"
#include "base/percent.h"

namespace gs::sandbox {
namespace {

using json::Object;
using json::Value;

constexpr Duration kBetweenTries = std::chrono::milliseconds{500};

std::string nodePath(const std::string& node) { return "/sandbox/v1/nodes/" + percentEncode(node); }
std::string gpuPath(const std::string& node, const std::string& gpu) {
  return fmt::format("{}/gpus/{}", nodePath(node), percentEncode(gpu));
}

Status onlyStatus(const Result<Value>& answer) {
  if (!answer) { return tl::unexpected(answer.error()); }
  return {};
}

std::string whoIsLeft(const Value& left) {
  std::string out;
  for (const Value& pod : left.items()) {
    out += fmt::format("{}{}/{}", out.empty() ? "" : ", ", pod["namespace"].str(), pod["name"].str());
    if (const auto why = pod["message"].str(); !why.empty()) { out += fmt::format(" ({})", why); }
  }
  return out;
}

}  // namespace

Remote::Remote(std::string url, net::ClientTls tls)
    : url_{std::move(url)}, client_{{.tls = std::move(tls)}} {}

Result<Value> Remote::send(const char* method, const std::string& path, const Value& body) {
  net::ClientRequest request;
  request.method = method;
  request.url = url_ + path;
  if (!body.isNull()) {
    request.body = json::print(body);
    request.headers = {{"Content-Type", "application/json"}};
  }
  const net::Answer answer = client_.send(request);
  if (answer.status == 0) {
    return fail(Code::Unavailable, fmt::format("nothing answers at {}: {}", url_, answer.message));
  }
  auto value = json::parse(answer.body);
  if (!value) {
    return fail(
        Code::NotFound,
        fmt::format("{} is no gpu-sandbox (it answered {}); set KUBECONFIG as `gpu-sandbox serve` printed it",
                    url_, answer.status));
  }
  if (answer.status >= 300) { return fail(Code::Invalid, std::string{(*value)["message"].str()}); }
  return *std::move(value);
}

Status Remote::addNodes(const Value& file) { return onlyStatus(send("POST", "/sandbox/v1/nodes", file)); }
Status Remote::removeNode(const std::string& node) { return onlyStatus(send("DELETE", nodePath(node))); }

Status Remote::drainNode(const std::string& node, Duration limit, const Clock& clock,
                         const std::function<void(const std::string&)>& waits) {
  std::string told;
  const Mono end = clock.now().mono + limit;
  Mailbox<int> nothing{1};  // to wait with
  for (;;) {
    const auto answer = send("POST", nodePath(node) + "/drain");
    if (!answer) { return tl::unexpected(answer.error()); }
    const Value& left = (*answer)["left"];
    if (left.items().empty()) { return {}; }
    const std::string names = whoIsLeft(left);
    if (clock.now().mono >= end) {
      return fail(Code::Deadline, fmt::format("node {} is not empty yet: {}", node, names));
    }
    if (waits && std::exchange(told, names) != names) { waits(names); }
    (void)nothing.pop(clock.now().mono + kBetweenTries);
  }
}

Status Remote::failGpu(const std::string& node, const std::string& gpu, int xid) {
  return onlyStatus(send("POST", gpuPath(node, gpu) + "/fail", Object{{"xid", xid}}));
}

Status Remote::repairGpu(const std::string& node, const std::string& gpu) {
  return onlyStatus(send("POST", gpuPath(node, gpu) + "/repair"));
}

}  // namespace gs::sandbox
