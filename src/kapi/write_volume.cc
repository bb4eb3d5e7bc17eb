#include "kapi/write_volume.h"

#include <string>
#include <utility>

#include "kapi/kinds.h"

namespace gs::kapi {
namespace {

using json::Object;

Call patchOf(Kind kind, const model::ObjectKey& key, const model::Uid& uid, model::Revision revision) {
  Call call;
  call.verb = Verb::MergePatch;
  call.kind = kind;
  call.key = key;
  call.body = Object{{"metadata", Object{{"uid", uid.text}, {"resourceVersion", std::to_string(revision)}}}};
  return call;
}

}  // namespace

Call bindVolume(const model::PersistentVolume& volume, const model::PersistentVolumeClaim& claim) {
  Call call = patchOf(kPersistentVolume, volume.key, volume.uid, volume.revision);
  if (!volume.claim && !volume.by_controller) {
    call.body.child("metadata").set("annotations", Object{{model::kBoundByControllerKey, "yes"}});
  }
  Object ref{{"apiVersion", apiVersion(kPersistentVolumeClaim)},
             {"kind", kPersistentVolumeClaim->name},
             {"namespace", claim.key.ns},
             {"name", claim.key.name},
             {"uid", claim.uid.text},
             {"resourceVersion", std::to_string(claim.revision)}};
  call.body.set("spec", Object{{"claimRef", std::move(ref)}});
  return call;
}

Call selectNode(const model::PersistentVolumeClaim& claim, const model::NodeName& node) {
  Call call = patchOf(kPersistentVolumeClaim, claim.key, claim.uid, claim.revision);
  call.body.child("metadata").set("annotations", Object{{model::kSelectedNodeKey, node.text}});
  return call;
}

}  // namespace gs::kapi
