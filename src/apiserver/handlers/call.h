// One request on its way through the handlers. Lives as long as its Api answers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/handlers/request.h"
#include "apiserver/patch/apply.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "base/clock.h"

namespace gs::apiserver {

using Handled = Answer<Response>;

enum class Checking : std::uint8_t { Ignore, Warn, Strict };  // of unknown fields

/// What a request that begins again (admission.h) takes along.
struct Kept {
  AdmissionNotes notes{};
  std::optional<Wall> born{};      // the object that it creates
  std::string suffix{};            // of a generated name; "": none was drawn
  std::string uid{};               // "": none was drawn
  std::optional<Response> list{};  // of what it deletes
  std::size_t deleted = 0;         // of them, so far
};

struct Call {
  Route route;
  const Request& request;
  Now now;
  Kept& kept;
  bool dry_run = false;
  Checking checking = Checking::Warn;
  OwnersPtr owners{};  // of what an apply creates
  std::vector<std::string> warnings{};

  [[nodiscard]] const Resource& resource() const { return *route.resource; }
  [[nodiscard]] std::string query(const char* key) const { return valueOf(route.query, key); }
  [[nodiscard]] StoreKey key() const { return {route.resource->storeId(), route.ns, route.name}; }
};

/// What the request is about; null: it is not there.
[[nodiscard]] inline const StoredObject* stored(const Store& store, const Call& call) {
  return store.find(call.key());
}

/// What the query says of dry runs and of unknown fields.
[[nodiscard]] Done readOptions(Call& call);

}  // namespace gs::apiserver
