#include "csi/kubelet/request_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clean_path.h"
#include "base/hash.h"
#include "base/utf8.h"

namespace gs::csi {
namespace {

constexpr std::size_t kMostOfATarget = 1024;

tl::unexpected<Error> badCall(std::string text) { return fail(Code::Invalid, std::move(text)); }

}  // namespace

std::string valueOf(const Context& context, const char* key) {
  const auto it = context.find(key);
  return it == context.end() ? std::string{} : it->second;
}

bool isPlainText(std::string_view text) {
  return isUtf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

Status checkId(const std::string& id, const char* call) {
  if (id.empty()) { return badCall(fmt::format("must provide a VolumeId to {}", call)); }
  if (id.size() > kMostOfAnId || !isPlainText(id)) {
    return badCall(fmt::format("volume_id is not a text of at most {} bytes", kMostOfAnId));
  }
  return {};
}

Status checkTarget(const std::string& target, const std::string& target_root, const char* field) {
  if (target.size() > kMostOfATarget || !isPlainText(target) || !isCleanPath(target)) {
    return badCall(fmt::format("{} '{}' is not an absolute path without '..', '.' and '//'", field,
                               isPlainText(target) ? target.substr(0, 200) : "?"));
  }
  if (!target.starts_with(target_root + '/')) {
    return badCall(fmt::format("{} '{}' is not below {}: is that the kubelet's folder of pods?", field,
                               target, target_root));
  }
  return {};
}

Status checkPodInfo(const Context& context, std::string_view driver) {
  if (const std::string kind = valueOf(context, kEphemeralKey); kind != "true" && kind != "false") {
    return badCall(
        fmt::format("volume_context {} is neither \"true\" nor \"false\": the CSIDriver {} needs "
                    "podInfoOnMount: true",
                    kEphemeralKey, driver));
  }
  for (const char* key : {kPodNameKey, kPodNamespaceKey, kPodUidKey}) {
    const std::string value = valueOf(context, key);
    if (value.empty() || value.size() > kMostOfAnId || !isPlainText(value)) {
      return badCall(fmt::format(
          "volume_context {} is not there or no name: the CSIDriver {} needs podInfoOnMount: true", key,
          driver));
    }
  }
  return {};
}

std::optional<TargetOf> readTarget(std::string_view target, const std::string& target_root) {
  constexpr std::string_view kMiddle = "/volumes/kubernetes.io~csi/";
  constexpr std::string_view kEnd = "/mount";
  if (!target.starts_with(target_root + '/') || !target.ends_with(kEnd)) { return std::nullopt; }
  target.remove_prefix(target_root.size() + 1);
  const std::size_t middle = target.find(kMiddle);
  if (middle == std::string_view::npos || middle + kMiddle.size() + kEnd.size() > target.size()) {
    return std::nullopt;
  }
  const std::string uid{target.substr(0, middle)};
  std::string_view volume = target.substr(middle + kMiddle.size());
  volume.remove_suffix(kEnd.size());
  const bool is_one_part = uid.find('/') == std::string::npos && volume.find('/') == std::string_view::npos;
  if (uid.empty() || volume.empty() || !is_one_part) { return std::nullopt; }
  return TargetOf{uid, "csi-" + sha256Hex(uid + std::string{volume}), std::string{volume}};
}

std::string podFolderOf(const std::string& target, const std::string& target_root) {
  return target.substr(0, target.find('/', target_root.size() + 1));
}

}  // namespace gs::csi
