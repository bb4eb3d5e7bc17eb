// The beginning of every decoder: what each object says of itself.
#pragma once

#include "kapi/decode.h"
#include "kapi/fields.h"

namespace gs::kapi {

/// A value with nothing but its key, uid and revision.
template <class T>
[[nodiscard]] T namedOf(const json::View& v) {
  T out;
  out.key = objectKey(v);
  out.uid = uidField(v);
  out.revision = objectRevision(v);
  return out;
}

}  // namespace gs::kapi
