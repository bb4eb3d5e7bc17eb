// Any bytes as a node file: what is read gives a Node that decodes to the same facts, and what an agent would
// publish of its GPUs to the same devices.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "agent/simulated.h"
#include "agent/status.h"
#include "kapi/decode.h"
#include "kapi/node_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const auto v = gs::json::parse(in);
  if (!v) { return 0; }
  const auto nodes = gs::kapi::readNodeFile(*v);
  if (!nodes) {
    if (nodes.error().message.rfind("node file: ", 0) != 0) { __builtin_trap(); }
    return 0;
  }
  for (const auto& node : *nodes) {
    const auto decoded = gs::kapi::decodeNode(gs::kapi::encodeNode(node));
    if (decoded.name != node.name || decoded.taints != node.taints || !decoded.ready) { __builtin_trap(); }
    gs::agent::NodeView view;
    view.devices = gs::agent::devicesOf(gs::agent::hardwareOf(node));
    const auto status = gs::kapi::decodeGpuNodeStatus(gs::agent::statusBody(node.name, view, "t"));
    const auto is_same = [](const auto& a, const auto& b) {
      return a.id == b.id && a.uuid == b.uuid && a.model == b.model && a.memory_mib == b.memory_mib &&
             a.health == b.health && a.health_reason == b.health_reason;
    };
    if (!std::equal(status.devices.begin(), status.devices.end(), node.devices.begin(), node.devices.end(),
                    is_same)) {
      __builtin_trap();
    }
  }
  return 0;
}
