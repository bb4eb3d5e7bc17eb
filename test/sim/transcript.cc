#include "test/sim/transcript.h"

#include <fmt/format.h>

#include <chrono>

#include "json/value.h"
#include "kapi/paths.h"
#include "test/sim/cluster.h"

namespace gs::sim {
namespace {

using json::Value;

constexpr std::size_t kUidShown = 8;

/// Of each GPU: whether it is well, and who uses it.
std::string statusText(const Value& status) {
  std::string out{status["observedTime"].str()};
  for (const Value& device : status["devices"].items()) {
    out += fmt::format("  {} {} {}", device["id"].intOr(-1), device["uuid"].str(), device["health"].str());
    for (const Value& uid : device["inUseBy"].items()) {
      out += fmt::format(" {}", uid.str().substr(0, kUidShown));
    }
  }
  return out;
}

}  // namespace

void Transcript::add(const kapi::Call& call) {
  if (call.verb == kapi::Verb::Apply) {
    copyLog();
    add("               apply " + json::print(call.body));
  } else if (call.verb == kapi::Verb::List) {
    copyLog();
    add("               read  " + kapi::target(call));
  }
}

void Transcript::copyLog() {
  for (; logged_ < world_.log().size(); ++logged_) { add("             " + world_.log()[logged_]); }
  for (; written_ < world_.writes().size(); ++written_) {
    add("               write " + world_.writes()[written_]);
  }
}

void Transcript::copyChanges() {
  const apiserver::Store& store = world_.api().store();
  for (; changed_ < store.historyEnd(); ++changed_) {
    if (const apiserver::HistoryEntry* entry = store.entry(changed_)) { addChange(*entry); }
  }
}

void Transcript::addChange(const apiserver::HistoryEntry& entry) {
  const bool is_lease = entry.key.resource == kLeasesId;
  const bool is_status = entry.key.resource == kStatusesId;
  if (entry.key.resource != kPodsId && !is_lease && !is_status) { return; }
  const std::chrono::duration<double> at = world_.now().mono - began_;
  std::string line = fmt::format("{:9.3f}s   {} {}/{}", at.count(),
                                 is_lease    ? "lease"
                                 : is_status ? "status"
                                             : "pod",
                                 entry.key.ns, entry.key.name);
  if (entry.after == nullptr) { return add(line + " is gone"); }
  const Value& now = *entry.after;
  if (is_status) { return add(line + " " + statusText(now["status"])); }
  const Value& notes = now["metadata"]["annotations"];
  if (is_lease && notes["gpu.scheduling/node"].isNull()) { return; }
  const Value& holder = is_lease ? now["spec"]["holderIdentity"] : now["metadata"]["uid"];
  line +=
      fmt::format(" {} {} {} ", holder.str(), now["spec"]["nodeName"].str(), now["status"]["phase"].str());
  add(line + json::print(notes));
}

}  // namespace gs::sim
