#include "extender/protocol/request_log.h"

#include <algorithm>
#include <utility>

#include "extender/protocol/reasons.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

constexpr std::size_t kMostPods = 4096;
constexpr std::size_t kMostKinds = 16;      // of one pod
constexpr std::size_t kLongestKind = 200;   // bytes
constexpr std::size_t kLongestText = 1000;  // what is in it may come from a body

/// What stays the same however the numbers change.
std::string kindOf(const Request& q, const Answer& a) {
  std::string kind;
  if (a.kind == Kind::Nowhere && a.text.empty()) {
    std::set<int> reasons;
    for (std::size_t i = 0; i < q.candidates.nodes.size(); ++i) {
      const sched::NodeStanding* standing = standingAt(a, q.candidates, i);
      reasons.insert(standing == nullptr || !standing->refused ? -1 : static_cast<int>(*standing->refused));
    }
    for (const int reason : reasons) { kind += std::to_string(reason) + ","; }
    return kind;
  }
  for (const char c : a.text.substr(0, kLongestKind)) {
    if (c < '0' || c > '9') { kind += c; }
  }
  return kind;
}

}  // namespace

bool RequestLog::mayTell(Mono now) {
  if (lines_ == 0 || now >= began_ + kWithin) {
    began_ = now;
    lines_ = 0;
  }
  if (lines_ >= kMostLines) {
    ++left_out_;
    return false;
  }
  ++lines_;
  return true;
}

std::optional<kapi::Log> RequestLog::lineOf(const Request& q, const Answer& a, Mono now) {
  if (q.pod == nullptr) { return std::nullopt; }
  if (a.kind == Kind::Chosen || a.kind == Kind::Done) { forget(q.pod->uid); }
  if (a.kind != Kind::Nowhere && a.kind != Kind::Failed) { return std::nullopt; }
  if (told_.size() >= kMostPods) { told_.clear(); }
  auto& kinds = told_[q.pod->uid];
  if (kinds.size() >= kMostKinds || !kinds.insert(kindOf(q, a)).second) { return std::nullopt; }
  if (!mayTell(now)) { return std::nullopt; }
  const std::string reason = a.kind == Kind::Failed ? a.text : summaryOf(a, q.candidates, q.pod->uid.text);
  kapi::Log line{kapi::Level::Info,
                 a.kind == Kind::Failed ? "failed" : "refused",
                 {{"pod", q.pod->key.text()}, {"reason", reason.substr(0, kLongestText)}}};
  if (left_out_ > 0) { line.fields.emplace_back("left_out", std::to_string(std::exchange(left_out_, 0))); }
  return line;
}

}  // namespace gs::extender
