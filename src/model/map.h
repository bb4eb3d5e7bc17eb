// The grammar of the annotation gpu-scheduling-map: which GPUs each pod of a StatefulSet gets, by its
// ordinal.
//
//   gpu-scheduling-map: |
//     0=node1:0,1
//     1=node2:2
//
// A line is `<ordinal>=<node>:<gpus>`; white space around a line and around each part does not count. The
// node is a logical name. Lines without `=` or `:` are passed over, of lines with one ordinal the last
// counts, and an ordinal that is no whole number ends the reading: what stands before it holds. That is how
// the map scheduler read it, and what its users' manifests mean.
// Reading is linear in the text, whatever stands in it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gs::model {

struct MapEntry {
  std::string node;
  std::string gpus;  // as it stands there: what containers are told
  friend bool operator==(const MapEntry&, const MapEntry&) = default;
};

/// Of more entries the first so many that are read hold.
inline constexpr std::size_t kMostMapEntries = 10'000;

[[nodiscard]] std::map<std::int64_t, MapEntry> parseMap(std::string_view text);

/// The number behind the last `-` of a pod's name: my-app-0 -> 0. Where the name begins with `generate_name`
/// (metadata.generateName) and a number follows, that one. nullopt: it has none.
[[nodiscard]] std::optional<std::int64_t> ordinalOf(std::string_view name,
                                                    std::string_view generate_name = {});

}  // namespace gs::model
