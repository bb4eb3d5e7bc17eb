// Any bytes as a node file: what is read gives objects that decode to the same devices.
#include <cstdint>
#include <string_view>

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
    const auto status = gs::kapi::decodeGpuNodeStatus(gs::kapi::encodeGpuNodeStatus(node, "t"));
    if (status.devices != node.devices) { __builtin_trap(); }
  }
  return 0;
}
