// What is drawn for the leaves of objects: few words, so that they collide, and those at the edges of what a
// field takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace gs::conformance {

using Texts = std::vector<std::string>;

/// Of a field, "v1.Container.image" or "image"; nullptr: any of its type.
[[nodiscard]] const json::Array* wordsOf(std::string_view field);
/// Of a map: labels, annotations, resources.
[[nodiscard]] const Texts& keysOf(std::string_view field);
/// A field that is not drawn: docs/inside/testing.md says why.
[[nodiscard]] bool isLeftOut(std::string_view field);
/// A type of which one member is meant to be there.
[[nodiscard]] bool isChoice(std::string_view go_name);

[[nodiscard]] const Texts& texts();
[[nodiscard]] const json::Array& numbers();
[[nodiscard]] const json::Array& amounts();
[[nodiscard]] const json::Array& portRefs();

}  // namespace gs::conformance
