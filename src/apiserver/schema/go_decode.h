// Built-in objects through Go's eyes: what decoding into the API's struct and writing it back makes of a
// body.
//
// Unknown fields are dropped and named; zero values of fields with omitempty go, structs and times that Go
// always writes come ("lastProbeTime": null); quantities and times get their canonical text. A wrong type is
// an error with Go's words. Decoding its own result changes nothing.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

struct Decoded {
  json::Value object;
  std::vector<std::string> unknown;  // paths, "spec.containers[0].bogus", as they come
};

/// `known`: what it once made of an earlier state of the same object; where `in` still shares parts with it,
/// they are taken as they are.
[[nodiscard]] tl::expected<Decoded, std::string> goDecode(const Schema& type, const json::Value& in,
                                                          const json::Value& known = {});

}  // namespace gs::apiserver
