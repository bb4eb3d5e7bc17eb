// Whether a container that runs has what its pod holds: NRI fails open, so one that was made while nobody
// answered has whatever it was given. What cannot be judged is said as such, and is not fine.
//
// A device node is there for sure. A name in NVIDIA_VISIBLE_DEVICES (or a mount) is a device where
// nvidia-container-runtime runs containers; elsewhere it is only said.
// Rules of cgroups are not seen here: NRI does not show them.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "enforce/given.h"
#include "enforce/plan_types.h"

namespace gs::enforce {

/// What a container has, as its runtime shows it.
struct Seen {
  std::vector<model::DeviceId> devices;  // ascending
  std::vector<model::DeviceId> told;     // named by a variable of it; ascending
  bool told_all = false;
  std::string unsure;  // why nobody can say what it has; "" somebody can
};
[[nodiscard]] Seen seen(const rpc::nri::Container& container, const DeviceTable& table,
                        const cdi::Index& index, const RuntimeFacts& facts);

enum class Wrong : std::uint8_t {
  HasAnothers,  // a device that a lease of another pod holds
  HasMore,      // a device beside its pod's own, which no lease holds
  LacksOwn,     // not all of its pod's
  ToldOthers,   // a variable names a device that another pod's lease holds, whether it can reach it or not
  Unjudged,     // nobody can say
};
inline constexpr std::size_t kWrongs = 5;
[[nodiscard]] const char* wrongName(Wrong wrong);

struct Mismatch {
  Wrong wrong{};
  std::string container;  // its id
  model::Uid pod;
  std::string ns;
  std::string pod_name;
  std::vector<model::DeviceId> devices;  // those that it is about
  std::string text;                      // a sentence that names pod and container
  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

/// One container, of which `seen` is known. Nothing: it is as it should be.
[[nodiscard]] std::vector<Mismatch> audit(const rpc::nri::PodSandbox& pod,
                                          const rpc::nri::Container& container, const Seen& seen,
                                          const NodeRecord& record, const RuntimeFacts& facts);

}  // namespace gs::enforce
