// Any bytes as the records of a node (which image new pods get, which volume has one mounted, what the
// ancestor wrote of pods), as mountinfo, and as what a pod's author writes into a volume: no crash, no hang;
// what is accepted leads nowhere out of its folder, and is printed and read again as the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "cacherim/node/old_usage.h"
#include "cacherim/node/present.h"
#include "cacherim/node/usage.h"
#include "csi/mountinfo.h"
#include "csi/volume_request.h"

namespace {

void lookAtRecords(std::string_view text) {
  if (const auto present = gs::cacherim::parsePresent(text)) {
    const auto again = gs::cacherim::parsePresent(gs::cacherim::printPresent(*present));
    if (!again || *again != *present) { __builtin_trap(); }
  }
  if (const auto use = gs::cacherim::parseUse(text)) {
    const auto again = gs::cacherim::parseUse(gs::cacherim::printUse(*use));
    if (!again || *again != *use) { __builtin_trap(); }
  }
  static_cast<void>(gs::cacherim::parseOldUsage(text));
}

void lookAtMounts(std::string_view text) {
  const auto lines = gs::csi::parseMountinfo(text);
  if (!lines) { return; }
  const gs::csi::Places places{
      .target_root = "/pods", .real_target_root = "/data/pods", .real_store = "/store"};
  for (const auto& mount : gs::csi::targetMounts(*lines, places)) {
    if (!mount.target.starts_with("/pods/")) { __builtin_trap(); }
    static_cast<void>(gs::csi::readTarget(mount.target, places.target_root));
  }
}

bool leadsOut(std::string_view name) {
  return name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos;
}

/// Lines: the target, then key=value of the volume's context.
void lookAtRequest(std::string_view text) {
  gs::rpc::PublishRequest request{.volume_id = "v",
                                  .target_path = std::string{text.substr(0, text.find('\n'))},
                                  .has_capability = true,
                                  .is_block = false,
                                  .mount_flags = {},
                                  .read_only = false,
                                  .context = {}};
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;) {
    const std::size_t end = text.find('\n', at + 1);
    const std::string_view line = text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    const std::size_t middle = line.find('=');
    if (middle != std::string_view::npos) {
      request.context[std::string{line.substr(0, middle)}] = line.substr(middle + 1);
    }
    at = end;
  }
  const auto wish = gs::csi::readPublish(request, "/pods");
  if (!wish) { return; }
  const bool is_own = wish->is_cluster_cache || request.context["csi.gkm.io/namespace"] == wish->pod_ns;
  const std::string around = wish->target + '/';
  const bool is_below = wish->target.starts_with("/pods/") && around.find("/../") == std::string::npos;
  if (!is_own || !is_below || leadsOut(wish->cache.folder()) || leadsOut(wish->cache.name())) {
    __builtin_trap();
  }
  static_cast<void>(gs::csi::podFolderOf(wish->target, "/pods"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  lookAtRecords(text);
  lookAtMounts(text);
  lookAtRequest(text);
  return 0;
}
