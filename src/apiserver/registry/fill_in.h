// What defaults have in common: they fill in what a body leaves out, and leave alone what cannot be decoded.
#pragma once

#include <string_view>
#include <utility>

#include "json/value.h"

namespace gs::apiserver {

/// As Go sees it: absent, "" or 0 are the same where a field is no pointer.
inline void fillIn(json::Value& object, const char* key, json::Value value) {
  const json::Value& there = object[key];
  const bool empty =
      there.isNull() || (there.isString() && there.str().empty()) || (there.isInt() && there.intOr(1) == 0);
  if (empty) { object.set(key, std::move(value)); }
}

/// Of a pointer: what is there counts.
inline void fillInMissing(json::Value& object, const char* key, json::Value value) {
  if (object[key].isNull()) { object.set(key, std::move(value)); }
}

/// Each object of the list that is there.
template <class Change>
void eachObject(json::Value& owner, const char* list, Change change) {
  if (!owner[list].isArray()) { return; }
  for (json::Value& one : owner.child(list).array()) {
    if (one.isObject()) { change(one); }
  }
}

/// The object that is there.
template <class Change>
void ifObject(json::Value& owner, const char* member, Change change) {
  if (owner[member].isObject()) { change(owner.child(member)); }
}

/// The same, and one that is missing is there from then on, as in Go where a field is no pointer.
template <class Change>
void ifObjectOrMissing(json::Value& owner, const char* member, Change change) {
  if (owner[member].isNull() || owner[member].isObject()) { change(owner.child(member)); }
}

}  // namespace gs::apiserver
