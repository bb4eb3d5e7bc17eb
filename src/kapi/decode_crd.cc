#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "model/annotations.h"

namespace gs::kapi {
namespace {

constexpr KindInfo kCrdInfo{"apiextensions.k8s.io",     "v1",  "customresourcedefinitions",
                            "CustomResourceDefinition", false, decodedBy<decodeCrd>};

constexpr int kLatest = 1'000'000;  // what cannot be read is taken for later than all that is known

}  // namespace

constinit const Kind kCrd{kCrdInfo};

model::Crd decodeCrd(const json::View& v) {
  model::Crd crd;
  crd.name = objectKey(v).name;
  crd.uid = uidField(v);
  crd.revision = objectRevision(v);
  crd.lease_namespace = text(v["metadata"]["annotations"][model::kLeaseNamespaceKey]);
  crd.lease_scheduler = text(v["metadata"]["annotations"][model::kLeaseSchedulerKey]);
  const std::string schema = text(v["metadata"]["annotations"][model::kSchemaVersionKey]);
  crd.schema = schema.empty() ? 0 : smallNumber(schema, kLatest).value_or(kLatest);
  crd.lease_term = text(v["metadata"]["annotations"][model::kLeaseTermKey]);
  return crd;
}

}  // namespace gs::kapi
