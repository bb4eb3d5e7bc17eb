#include "kapi/write_eviction.h"

#include "kapi/kinds.h"

namespace gs::kapi {

Call evictPod(const model::ObjectKey& key, const model::Uid& uid) {
  using json::Object;
  Call call;
  call.verb = Verb::Create;
  call.kind = kPod;
  call.key = key;
  call.subresource = "eviction";
  call.body = Object{{"apiVersion", "policy/v1"},
                     {"kind", "Eviction"},
                     {"metadata", Object{{"name", key.name}, {"namespace", key.ns}}},
                     {"deleteOptions", Object{{"preconditions", Object{{"uid", uid.text}}}}}};
  return call;
}

}  // namespace gs::kapi
