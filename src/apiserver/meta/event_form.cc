#include "apiserver/meta/event_form.h"

#include <array>
#include <utility>

namespace gs::apiserver {
namespace {

/// {events.k8s.io, core}
constexpr std::array<std::pair<const char*, const char*>, 7> kNames{{
    {"regarding", "involvedObject"},
    {"note", "message"},
    {"deprecatedSource", "source"},
    {"deprecatedFirstTimestamp", "firstTimestamp"},
    {"deprecatedLastTimestamp", "lastTimestamp"},
    {"deprecatedCount", "count"},
    {"reportingController", "reportingComponent"},
}};

void rename(json::Value& object, const char* from, const char* to) {
  const json::Value* value = object.find(from);
  if (value == nullptr) { return; }
  json::Value taken = *value;
  object.erase(from);
  object.set(to, std::move(taken));
}

/// Core always writes these two; events.k8s.io leaves them out when empty.
void dropEmpty(json::Value& object) {
  for (const char* name : {"reportingController", "reportingInstance"}) {
    const json::Value* value = object.find(name);
    if (value != nullptr && value->str().empty()) { object.erase(name); }
  }
}

void writeAlways(json::Value& object) {
  for (const char* name : {"reportingComponent", "reportingInstance"}) {
    if (object.find(name) == nullptr) { object.set(name, ""); }
  }
}

}  // namespace

json::Value toCoreEvent(json::Value event) {
  if (!event.isObject()) { return event; }
  for (const auto& [ours, core] : kNames) { rename(event, ours, core); }
  event.set("apiVersion", "v1");
  writeAlways(event);
  return event;
}

json::Value fromCoreEvent(json::Value event) {
  if (!event.isObject()) { return event; }
  for (const auto& [ours, core] : kNames) { rename(event, core, ours); }
  event.set("apiVersion", "events.k8s.io/v1");
  dropEmpty(event);
  return event;
}

}  // namespace gs::apiserver
