// Any bytes as requests of schedulers to the extender: "VERB BODY" a record, records apart by a line "---".
// Each is answered with a code, and with JSON where the scheduler reads it, unless its own body was none:
// nodes of which nothing is looked at come back as they are (json/scanner.h). Whatever was asked, no device
// is given twice.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "extender/protocol/request_handler_hand_test.h"
#include "json/value.h"
#include "sched/ledger/shares.h"

namespace {

using gs::extender::RequestHandlerHand;

constexpr int kMaxRequests = 8;

std::string_view takeRecord(std::string_view& in) {
  constexpr std::string_view kApart = "\n---\n";
  const auto end = std::min(in.find(kApart), in.size());
  const std::string_view record = in.substr(0, end);
  in.remove_prefix(std::min(end + kApart.size(), in.size()));
  return record;
}

void post(RequestHandlerHand& front, std::string_view record) {
  const auto space = std::min(record.find(' '), record.size());
  const std::string path = "/scheduler/" + std::string{record.substr(0, space)};
  std::string body{record.substr(std::min(space + 1, record.size()))};
  const bool is_json = gs::json::parse(body).has_value();
  const auto reply = front.post(path, std::move(body));
  const bool known = reply.status == 200 || reply.status == 400 || reply.status == 404 || reply.status == 503;
  if (!known || (reply.status == 200 && is_json && !gs::json::parse(reply.body))) { __builtin_trap(); }
}

/// gpu-manager takes all its containers: whole GPUs, or a share of both, and none in an init container.
bool isServed(const gs::model::Pod& pod) {
  return pod.init_share_limits.empty() &&
         std::all_of(pod.share_limits.begin(), pod.share_limits.end(), [](const auto& amounts) {
           const auto limits = gs::model::vcudaOf(amounts);
           return limits.cores >= 100 ? limits.cores % 100 == 0 : (limits.cores > 0) == (limits.memory > 0);
         });
}

/// Judged from the pods as the API server has them.
void judge(const RequestHandlerHand& front) {
  std::map<std::pair<std::string, int>, std::int64_t> cores;
  for (const auto& [name, pod] : front.server.pods) {
    const auto note = gs::model::readVcudaNote(pod.annotations);
    if (!note.node.empty() && !isServed(pod)) { __builtin_trap(); }
    for (const auto& [container, ids] : note.ids) {
      const auto i = static_cast<std::size_t>(container);
      if (i >= pod.share_limits.size()) { __builtin_trap(); }
      for (const int id : ids) {
        auto& used = cores[{note.node.text, id}];
        used += std::min<std::int64_t>(gs::model::vcudaOf(pod.share_limits[i]).cores, 100);
        if (used > 100) { __builtin_trap(); }
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view in{reinterpret_cast<const char*>(data), size};
  RequestHandlerHand front;
  for (const char* name : {"n0", "n1"}) { front.addNode(gs::extender::gpuNode(name, 2)); }
  front.addNode(gs::extender::gpuNode("cpu", 0));
  front.addPod("p0", "u-0", {{60, 2}});
  front.addPod("p1", "u-1", {{100, 0}, {30, 1}});
  front.addPod("p2", "u-2", {});
  front.addPod("p3", "u-3", {{60, 2}, {30, 0}});
  for (int i = 0; i < kMaxRequests && !in.empty(); ++i) {
    post(front, takeRecord(in));
    judge(front);
    front.now.mono += std::chrono::seconds{1};
    front.now.wall += std::chrono::seconds{1};
  }
  return 0;
}
