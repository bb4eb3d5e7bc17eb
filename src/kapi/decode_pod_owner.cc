// Services and controllers, as far as default spread asks which pods they mean.
#include <string>
#include <string_view>
#include <utility>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/selectors.h"
#include "model/default_spread.h"

namespace gs::kapi {
namespace {

using json::View;

constexpr std::size_t kMostLabels = 256;  // of a selector; anybody may write one

model::PodOwner ownerWithoutPods(const View& v) { return {objectKey(v), uidField(v), objectRevision(v), {}}; }

/// spec.selector is labels.
model::PodOwner ownerByLabels(const View& v) {
  model::PodOwner out = ownerWithoutPods(v);
  const auto labels = stringMap(v["spec"]["selector"]);
  if (labels.size() > kMostLabels) { return out; }
  for (const auto& [key, value] : labels) {
    out.pods.requirements.push_back({key, model::LabelRequirement::Op::In, {value}});
  }
  return out;
}

/// spec.selector is a label selector. What kube-scheduler cannot read it does not count by.
model::PodOwner ownerBySelector(const View& v) {
  model::PodOwner out = ownerWithoutPods(v);
  auto read = readSelector(v["spec"]["selector"]);
  if (read.is_whole && read.parts <= kMostLabels) { out.pods = std::move(read.selector); }
  return out;
}

constexpr KindInfo kServiceInfo{"", "v1", "services", "Service", true, decodedBy<ownerByLabels>};
constexpr KindInfo kReplicationControllerInfo{
    "", "v1", "replicationcontrollers", "ReplicationController", true, decodedBy<ownerByLabels>};
constexpr KindInfo kReplicaSetInfo{"apps",       "v1", "replicasets",
                                   "ReplicaSet", true, decodedBy<ownerBySelector>};
constexpr KindInfo kStatefulSetInfo{"apps",        "v1", "statefulsets",
                                    "StatefulSet", true, decodedBy<ownerBySelector>};

}  // namespace

constinit const Kind kService{kServiceInfo};
constinit const Kind kReplicationController{kReplicationControllerInfo};
constinit const Kind kReplicaSet{kReplicaSetInfo};
constinit const Kind kStatefulSet{kStatefulSetInfo};

std::string controllerOf(const View& meta) {
  for (const View owner : meta["ownerReferences"].items()) {
    if (!owner["controller"].boolOr(false)) { continue; }
    for (const Kind kind : {kReplicationController, kReplicaSet, kStatefulSet}) {
      if (owner["kind"].str() == kind->name && owner["apiVersion"].str() == apiVersion(kind)) {
        return std::string{kind->name} + "/" + text(owner["name"]);
      }
    }
    return "";
  }
  return "";
}

}  // namespace gs::kapi
