#include "controller/holder_pod.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "json/document.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/time.h"

namespace gs::controller {
namespace {

using json::View;

void addRun(const std::string& container, const View& state, HolderPod& pod) {
  const auto began = kapi::parseTime(state["terminated"]["startedAt"].str());
  const auto ended = kapi::parseTime(state["terminated"]["finishedAt"].str());
  if (began && ended) { pod.runs.push_back({container, *began, ended}); }
  if (const auto since = kapi::parseTime(state["running"]["startedAt"].str())) {
    pod.runs.push_back({container, *since, std::nullopt});
  }
}

HolderPod decodeHolderPod(const View& v) {
  HolderPod pod;
  pod.key = kapi::objectKey(v);
  pod.uid = kapi::uidField(v);
  pod.revision = kapi::objectRevision(v);
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const View status : v["status"][list].items()) {
      const std::string name = kapi::text(status["name"]);
      addRun(name, status["state"], pod);
      addRun(name, status["lastState"], pod);
    }
  }
  return pod;
}

constexpr kapi::KindInfo kHolderPodInfo{"", "v1", "pods", "Pod", true, kapi::decodedBy<decodeHolderPod>};

}  // namespace

constinit const kapi::Kind kHolderPod{kHolderPodInfo};

std::string printHolderContainer(const HolderContainer& container) {
  return fmt::format("{}/{}/{}/{}", container.pod.ns, container.pod.name, container.uid.text, container.name);
}

std::optional<HolderContainer> parseHolderContainer(std::string_view text) {
  std::array<std::string, 4> parts;
  for (std::string& part : parts) {
    const bool last = &part == &parts.back();
    const std::size_t end = last ? text.size() : text.find('/');
    if (end == std::string_view::npos) { return std::nullopt; }
    part = text.substr(0, end);
    if (part.empty() || part.find('/') != std::string::npos) { return std::nullopt; }
    text.remove_prefix(last ? end : end + 1);
  }
  return HolderContainer{{parts[0], parts[1]}, model::Uid{parts[2]}, parts[3]};
}

bool hasEnded(const HolderPod& pod, const HolderContainer& container, const model::Lease::Record& record) {
  const auto acquired = kapi::parseTime(record.acquire_time);
  const auto renewed = kapi::parseTime(record.renew_time);
  if (pod.uid != container.uid || !acquired || !renewed) { return false; }
  const auto may_be = [&](const HolderPod::Run& run) {
    return run.container == container.name && run.began <= *acquired &&
           (!run.ended || *acquired < *run.ended);
  };
  const auto first = std::find_if(pod.runs.begin(), pod.runs.end(), may_be);
  return first != pod.runs.end() && std::all_of(first, pod.runs.end(), [&](const HolderPod::Run& run) {
           return !may_be(run) || (run.ended && *renewed < *run.ended + std::chrono::seconds{1});
         });
}

}  // namespace gs::controller
