// What the thread that answers the container runtime tells the agent's machine. A value; a new one whenever
// something changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "enforce/audit.h"
#include "enforce/enforcer.h"
#include "enforce/plan_types.h"
#include "model/ids.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

/// What is to be said of a pod: a container that was not made, or how one was made.
struct Said {
  model::ObjectKey pod;
  model::Uid uid;
  std::string container;  // its name
  std::variant<Reason, Remark> what;
  std::string text;  // a sentence that names pod and container
  friend bool operator==(const Said&, const Said&) = default;
};

/// Which devices a container has.
struct ContainerGpus {
  model::ObjectKey pod;
  model::Uid uid;
  std::string container;  // its name
  std::vector<model::DeviceId> devices;
  friend bool operator==(const ContainerGpus&, const ContainerGpus&) = default;
};

struct Report {
  static constexpr std::size_t kMostSaid = 256;
  static constexpr std::size_t kMostMismatches = 1024;

  bool is_connected = false;  // every container that is made is asked about
  std::string why{};          // not: a sentence
  rpc::nri::Runtime runtime{};
  Counts counts{};
  std::vector<Said> said{};                 // since the report before; kMostSaid at most
  std::uint64_t unsaid = 0;                 // what was left out of it
  std::vector<ContainerGpus> containers{};  // those with devices
  std::vector<Mismatch> mismatches{};       // that there are now; kMostMismatches at most
  std::uint64_t more_mismatches = 0;        // what was left out of them
  friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace gs::enforce
