#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"

namespace gs::kapi {
namespace {

constexpr KindInfo kNamespaceInfo{"", "v1", "namespaces", "Namespace", false, decodedBy<decodeNamespace>};

}  // namespace

constinit const Kind kNamespace{kNamespaceInfo};

model::Namespace decodeNamespace(const json::View& v) {
  return {objectKey(v), uidField(v), objectRevision(v), stringMap(v["metadata"]["labels"])};
}

}  // namespace gs::kapi
