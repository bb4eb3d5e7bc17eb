// GET: one object, or a list with selectors and pages.
#pragma once

#include "apiserver/handlers/call.h"
#include "apiserver/storage/store.h"

namespace gs::apiserver {

[[nodiscard]] Handled get(const Store& store, const Call& call);
[[nodiscard]] Handled list(const Store& store, const Call& call);

}  // namespace gs::apiserver
