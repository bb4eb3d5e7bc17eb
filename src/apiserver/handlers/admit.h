// Where the handlers meet admission: a call's question to the plugins, and what becomes of their answers.
#pragma once

#include <string_view>

#include "apiserver/admission/admission.h"
#include "apiserver/handlers/call.h"
#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

/// What the call does, as admission sees it. Good while the call is.
struct Admitted {
  Operation operation{};
  const Resource& type;    // of the object: for a Binding or an Eviction not the URL's
  std::string_view name;   // "" : the server will make one
  const json::Value& old;  // null: Create
};

/// `object` null: Delete. Error: refused, or it waits (call.kept.notes); the handler passes it on.
[[nodiscard]] Done admitMutating(const Admission& admission, Call& call, const Admitted& what,
                                 json::Value& object);
/// Of what would be stored.
[[nodiscard]] Done admitValidating(const Admission& admission, Call& call, const Admitted& what,
                                   const json::Value& object);

}  // namespace gs::apiserver
