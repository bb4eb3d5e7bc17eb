// The grammar of the annotation gpu-scheduling-map: which GPUs each pod of a StatefulSet gets, by its
// ordinal.
//
//   gpu-scheduling-map: |
//     0=node1:0,1
//     1=node2:2
//
// A line is `<ordinal>=<node>:<gpus>`; white space around a line and around each part does not count. The
// node is a logical name. Lines without `=` or `:` are passed over, of lines with one ordinal the last
// counts, and an ordinal that is no whole number ends the reading: what stands before it holds. (One of more
// than 64 bits is a whole number, and no pod's.) That is how the map scheduler read it, and what its users'
// manifests mean.
// What a pod's line says is kept as it stands there, for its containers are told that; whoever gives GPUs
// reads their ids with parseMapGpus(), which takes no nonsense.
// Reading is linear in the text, whatever stands in it, and keeps one line. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gs::model {

struct MapEntry {
  std::string node;
  std::string gpus;  // as it stands there
  friend bool operator==(const MapEntry&, const MapEntry&) = default;
};

/// What a map says of one ordinal.
struct MapReading {
  std::optional<MapEntry> entry;
  std::string_view ended_at;  // the line at which reading ended, in the text; "": it was read to its end
  /// What the last line of that ordinal says that has no `:`, in the text; "": there is none.
  std::string_view without_colon{};
};
[[nodiscard]] MapReading readMap(std::string_view text, std::int64_t ordinal);

/// A map with what this one says of that ordinal, and no more: at most 2 KiB. readMap() of it reads the same
/// entry, or, where that is refused for its length, one that is refused too. Of the lines that are only shown
/// it has the beginning.
[[nodiscard]] std::string ownMap(std::string_view text, std::int64_t ordinal);

/// The number behind the last `-` of a pod's name: my-app-0 -> 0. Where the name begins with `generate_name`
/// (metadata.generateName) and a number follows, that one. nullopt: it has none.
[[nodiscard]] std::optional<std::int64_t> ordinalOf(std::string_view name,
                                                    std::string_view generate_name = {});

/// Whether a node may be called so: a value of the label model::kNodeNameLabel, or a Node's own name.
[[nodiscard]] bool isLabelValue(std::string_view text);
[[nodiscard]] bool isNodeName(std::string_view text);
inline constexpr std::size_t kMostLabelValue = 63;
inline constexpr std::size_t kMostNodeName = 253;

/// One pod gets no more.
inline constexpr std::size_t kMostMapGpus = 64;
inline constexpr std::size_t kMostMapText = 1024;  // bytes in which they are written
/// The ids of an entry: "0,1", in any order; "" is none. Ascending, each once, 0 to kMaxDeviceId. Error
/// Invalid: what is wrong with it, and what to write.
[[nodiscard]] Result<std::vector<int>> parseMapGpus(std::string_view gpus);
/// A container that was told the first has the GPUs of an entry that says the second.
[[nodiscard]] bool tellsSame(std::string_view told, std::string_view gpus);

}  // namespace gs::model
