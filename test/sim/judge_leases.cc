// What the judge asks of every lease as it is written.
#include <fmt/format.h>

#include "json/document.h"
#include "kapi/decode.h"
#include "test/sim/judge.h"

namespace gs::sim {
namespace {

/// "" or why who reads it as the product does cannot read all of it. The one thing that the judge asks the
/// product's code: what matters here is that the next leader can read what this one wrote.
std::string trouble(const apiserver::ObjectPtr& object) {
  return object == nullptr ? "" : kapi::decodeLease(json::View{*object}).malformed;
}

}  // namespace

/// A replica of ours writes nothing that another one cannot read. What somebody spoilt by hand it may leave
/// so, when it takes a pod out of it.
void Judge::mustBeReadable(const apiserver::HistoryEntry& entry) {
  if (hand_ || entry.after == nullptr) { return; }
  const std::string now = trouble(entry.after);
  if (now.empty() || !trouble(entry.before).empty()) { return; }
  wrong(fmt::format("lease {} was written as nobody can read it: {}", entry.key.name, now));
}

}  // namespace gs::sim
