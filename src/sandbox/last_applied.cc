#include "sandbox/last_applied.h"

#include <algorithm>

#include "sandbox/field_set.h"

namespace gs::sandbox {
namespace {

constexpr const char* kAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

}  // namespace

bool mayTakeOver(const json::Value& live, const Schema& schema, const ApiError& conflict) {
  const auto text = live["metadata"]["annotations"][kAnnotation].str();
  const auto last = json::parse(text);
  if (text.empty() || !last || !last->isObject()) { return false; }
  FieldSet theirs = fieldsOf(*last, &schema);
  const FieldChanges since = compareFields(*last, live, &schema);
  theirs.subtract(since.changed);
  theirs.subtract(since.removed);
  const auto allowed = theirs.paths();
  const auto& causes = conflict.details["causes"].items();
  return !causes.empty() && std::all_of(causes.begin(), causes.end(), [&](const json::Value& cause) {
    return std::find(allowed.begin(), allowed.end(), cause["field"].str()) != allowed.end();
  });
}

}  // namespace gs::sandbox
