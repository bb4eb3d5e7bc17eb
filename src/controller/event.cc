#include "controller/event.h"

#include <fmt/format.h>

#include "base/short_name.h"
#include "kapi/kinds.h"
#include "kapi/time.h"
#include "kapi/write.h"

namespace gs::controller {
namespace {

constexpr Duration kSeriesWindow = std::chrono::minutes{6};
constexpr Duration kMinGap = std::chrono::seconds{10};
constexpr std::size_t kMaxTracked = 4096;
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMostOfInstance = 128;  // as events.k8s.io has it
constexpr std::size_t kMaxNamePart = kMostOfAName - 17;

/// At most 1024 bytes, cut before a character that would be split.
std::string cutNote(std::string note) {
  if (note.size() <= kMaxNote) { return note; }
  std::size_t end = kMaxNote - 3;
  while (end > 0 && (static_cast<unsigned char>(note[end]) & 0xC0U) == 0x80U) { --end; }
  return note.substr(0, end) + "...";
}

std::string keyOfSeries(const EventNote& n) {
  return fmt::format("{}\n{}\n{}\n{}", n.uid.text, n.warning ? "W" : "N", n.reason, n.note);
}

/// An object's name, cut so that a dot and 16 digits behind it still make a valid one.
std::string_view namePart(std::string_view name) { return beginningOf(name, kMaxNamePart); }

/// As long as other names are.
std::string nameOfOnce(const EventNote& n) {
  const std::string what = fmt::format("{}\n{}\n{}", n.uid.text, n.reason, n.once);
  return fmt::format("{}.{}", namePart(n.object.name), hashOf(what, 16));
}

}  // namespace

EventRecorder::EventRecorder(std::string controller, std::string instance, Rng rng)
    : controller_{std::move(controller)},
      instance_{instance.size() <= kMostOfInstance ? std::move(instance)
                                                   : shortName(instance, kMostOfInstance)},
      rng_{rng} {}

void EventRecorder::forgetOld(Mono now) {
  while (!order_.empty() && (order_.size() > kMaxTracked || now - order_.front().first > kSeriesWindow)) {
    const auto it = series_.find(order_.front().second);
    const bool alive =
        it != series_.end() && now - it->second.last <= kSeriesWindow && order_.size() <= kMaxTracked;
    if (alive) {
      order_.emplace_back(it->second.last, it->first);
    } else if (it != series_.end()) {
      series_.erase(it);
    }
    order_.pop_front();
  }
}

std::optional<kapi::Call> EventRecorder::record(const EventNote& note, Now now) {
  if (!note.once.empty()) { return create(note, nameOfOnce(note), now); }
  forgetOld(now.mono);
  const std::string key = keyOfSeries(note);
  const auto it = series_.find(key);
  if (it == series_.end() || now.mono - it->second.last > kSeriesWindow) {
    const std::string name =
        fmt::format("{}.{:016x}", namePart(note.object.name), rng_.next());  // as client-go
    if (it == series_.end()) { order_.emplace_back(now.mono, key); }
    series_[key] =
        Series{note.object.ns.empty() ? "default" : note.object.ns, name, 1, 1, now.mono, now.mono};
    return create(note, name, now);
  }
  Series& s = it->second;
  ++s.count;
  s.last = now.mono;
  if (now.mono - s.written_at < kMinGap) { return std::nullopt; }
  s.written = s.count;
  s.written_at = now.mono;
  return patchSeries(s, now);
}

void EventRecorder::lost(const model::ObjectKey& event) {
  std::erase_if(series_,
                [&](const auto& s) { return s.second.ns == event.ns && s.second.name == event.name; });
}

kapi::Call EventRecorder::create(const EventNote& note, const std::string& name, Now now) const {
  const std::string ns = note.object.ns.empty() ? "default" : note.object.ns;
  json::Object regarding{{"kind", note.kind->name},
                         {"name", note.object.name},
                         {"uid", note.uid.text},
                         {"apiVersion", kapi::apiVersion(note.kind)}};
  if (!note.object.ns.empty()) { regarding["namespace"] = note.object.ns; }
  if (note.revision != 0) { regarding["resourceVersion"] = std::to_string(note.revision); }
  kapi::Call call;
  call.verb = kapi::Verb::Create;
  call.kind = kapi::kEvent;
  call.key = {ns, ""};
  call.leader_only = true;
  call.body = json::Object{{"apiVersion", "events.k8s.io/v1"},
                           {"kind", "Event"},
                           {"metadata", json::Object{{"name", name}, {"namespace", ns}}},
                           {"eventTime", kapi::microTimeText(now.wall)},
                           {"reportingController", controller_},
                           {"reportingInstance", instance_},
                           {"action", note.action},
                           {"reason", note.reason},
                           {"regarding", std::move(regarding)},
                           {"note", cutNote(note.note)},
                           {"type", note.warning ? "Warning" : "Normal"}};
  return call;
}

kapi::Call EventRecorder::patchSeries(const Series& series, Now now) {
  kapi::Call call;
  call.verb = kapi::Verb::MergePatch;
  call.kind = kapi::kEvent;
  call.key = {series.ns, series.name};
  call.leader_only = true;
  call.body = json::Object{
      {"series", json::Object{{"count", series.count}, {"lastObservedTime", kapi::microTimeText(now.wall)}}}};
  return call;
}

}  // namespace gs::controller
