// Any bytes as what a container runtime sends to an NRI plugin: no crash, no hang; how they are cut changes
// nothing; what is sent can be read, in pieces that a runtime takes; each call gets one answer at most, and
// nothing is sent after nonsense. The first byte says how they are cut, and whether they are the whole stream
// or the message of one call of a session that is registered.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/nri/session.h"

namespace {

namespace nri = gs::rpc::nri;
namespace ttrpc = gs::rpc::ttrpc;

constexpr std::string_view kMethods[] = {
    "",         "Configure",    "Synchronize", "CreateContainer", "StopContainer", "StateChange",
    "Shutdown", "RunPodSandbox"};
constexpr std::size_t kMostToSynchronize = 1 << 20;

/// Gives a container what it has, and writes down what it is told.
class Echo final : public nri::Plugin {
 public:
  void configured(const nri::Runtime& runtime) override { told += "c" + runtime.name + runtime.version; }
  void synchronized(std::vector<nri::PodSandbox> pods, std::vector<nri::Container> containers) override {
    std::size_t weight = 0;
    for (const auto& pod : pods) { weight += weightOf(pod); }
    for (const auto& container : containers) { weight += weightOf(container); }
    if (weight > kMostToSynchronize) { __builtin_trap(); }
    told += "y" + std::to_string(weight);
  }
  gs::Result<nri::Adjustment> createContainer(const nri::PodSandbox& pod,
                                              const nri::Container& container) override {
    note('a', pod, container);
    if (container.id == "no") { return gs::fail(gs::Code::Conflict, "no: " + container.name); }
    nri::Adjustment out;
    out.annotations = container.annotations;
    out.remove_annotations = container.env;
    out.mounts = container.mounts;
    out.devices = container.devices;
    out.cdi_devices = container.cdi_devices;
    out.hooks.prestart = {{container.name, container.env, {}, 1}};
    return out;
  }
  void containerStopped(const nri::PodSandbox& pod, const nri::Container& container) override {
    note('s', pod, container);
  }
  void containerRemoved(const nri::PodSandbox& pod, const nri::Container& container) override {
    note('r', pod, container);
  }
  void podStarted(const nri::PodSandbox& pod) override { note('1', pod, {}); }
  void podStopped(const nri::PodSandbox& pod) override { note('2', pod, {}); }
  void podRemoved(const nri::PodSandbox& pod) override { note('3', pod, {}); }

  std::string told;

 private:
  void note(char what, const nri::PodSandbox& pod, const nri::Container& container) {
    told += what + pod.id + container.id;
  }
};

/// That a runtime can read it, and no call is answered twice. An even stream, or one that was used before, is
/// refused each time it comes.
void checkOutput(std::string_view output) {
  ttrpc::MuxReader mux;
  ttrpc::FrameReader streams[2];
  std::set<std::uint32_t> answered;
  while (!output.empty()) {
    const std::string_view before = output;
    const auto piece = mux.next(output);
    if (!piece || !*piece || before.size() - output.size() > 4096) { __builtin_trap(); }
    if ((*piece)->conn != 1 && (*piece)->conn != 2) { __builtin_trap(); }
    for (std::string_view rest = (*piece)->bytes; !rest.empty();) {
      const auto frame = streams[(*piece)->conn - 1].next(rest);
      if (!frame) { __builtin_trap(); }
      if (!*frame || (*piece)->conn == 2) { continue; }
      const auto response = ttrpc::parseResponse((*frame)->data);
      if (!response || (*frame)->type != ttrpc::FrameType::Response) { __builtin_trap(); }
      const bool is_call = response->code != ttrpc::StatusCode::InvalidArgument;
      if (is_call && !answered.insert((*frame)->stream).second) { __builtin_trap(); }
    }
  }
}

struct Seen {
  std::string told;
  std::string output;
  std::string error;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen play(std::string_view bytes, std::size_t piece) {
  Echo plugin;
  nri::Session session{{.plugin_name = "fuzz", .plugin_idx = "00", .most_to_synchronize = kMostToSynchronize},
                       plugin};
  Seen seen;
  gs::Status status;
  while (!bytes.empty() && status) {
    status = session.received(bytes.substr(0, piece));
    seen.output += session.takeOutput();
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (!status) {
    seen.error = status.error().message;
    if (session.received("x") || !session.takeOutput().empty()) { __builtin_trap(); }
  }
  checkOutput(seen.output);
  seen.told = plugin.told;
  return seen;
}

void appendCall(std::string& out, std::uint32_t stream, std::string_view method, std::string_view payload) {
  std::string frame;
  ttrpc::appendFrame(frame, {.stream = stream,
                             .type = ttrpc::FrameType::Request,
                             .data = ttrpc::printRequest({.service = "nri.pkg.api.v1alpha1.Plugin",
                                                          .method = std::string{method},
                                                          .payload = std::string{payload}})});
  ttrpc::appendPieces(out, 1, frame);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) { return 0; }
  const std::size_t piece = std::size_t{data[0]} % 32 + 1;
  const std::string_view method = kMethods[data[0] / 32];
  std::string bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  if (!method.empty()) {
    std::string calls;
    appendCall(calls, 1, "Configure", "");
    appendCall(calls, 3, "Synchronize", "");
    appendCall(calls, 5, method, bytes);
    bytes = calls;
  }
  if (play(bytes, bytes.size() + 1) != play(bytes, piece)) { __builtin_trap(); }
  return 0;
}
