#include "apiserver/handlers/admit.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "apiserver/handlers/body.h"

namespace gs::apiserver {
namespace {

using json::Value;

AdmissionRequest requestOf(const Call& call, const Admitted& what) {
  const Resource& r = call.resource();
  return {what.operation,
          r,
          call.route.subresource,
          r.is("/namespaces") ? what.name : std::string_view{call.route.ns},
          what.name,
          what.old,
          call.dry_run,
          call.request.user,
          call.now,
          call.kept.notes.requestId()};
}

/// What a plugin made of an object, as one of its kind. Its name and its namespace stay.
Answer<Value> decodeAgain(Call& call, const Admitted& what, const Value& before, Value object) {
  const Value& meta = object["metadata"];
  if (!meta.isObject() || object["apiVersion"] != before["apiVersion"] || object["kind"] != before["kind"]) {
    return plainError(fmt::format("an admission plugin made no {} of the object: {}", what.type.kind,
                                  json::print(object).substr(0, 200)));
  }
  for (const char* field : {"name", "namespace"}) {
    if (meta[field] == before["metadata"][field]) { continue; }
    return plainError(fmt::format("an admission plugin changed metadata.{} from {} to {}", field,
                                  json::print(before["metadata"][field]), json::print(meta[field])));
  }
  const Checking checking = std::exchange(call.checking, Checking::Ignore);
  auto decoded = decode(call, what.type, std::move(object), what.old);
  call.checking = checking;
  if (!decoded) { return plainError(decoded.error()); }
  return *std::move(decoded);
}

}  // namespace

Done admitMutating(const Admission& admission, Call& call, const Admitted& what, json::Value& object) {
  const auto decode = [&](Value next) { return decodeAgain(call, what, object, std::move(next)); };
  return admission.mutate(call.kept.notes, requestOf(call, what), object, decode, call.warnings);
}

Done admitValidating(const Admission& admission, Call& call, const Admitted& what,
                     const json::Value& object) {
  return admission.validate(call.kept.notes, requestOf(call, what), object, call.warnings);
}

}  // namespace gs::apiserver
