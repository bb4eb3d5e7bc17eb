// What the GPUs of a node are, as a driver (or a node file) says it. Values without a driver's words:
// noderim/ makes them, the agent publishes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "model/node.h"
#include "model/vendor.h"

namespace gs::agent {

enum class LinkType : std::uint8_t { NvLink, Pcie };

/// As the status says it.
[[nodiscard]] constexpr const char* linkName(LinkType type) {
  return type == LinkType::NvLink ? "nvlink" : "pcie";
}

/// A MIG partition.
struct Partition {
  std::string uuid;
  std::string profile;  // 1g.10gb
  std::int64_t memory_mib = 0;
  int milli = 0;  // its part of the GPU, in thousandths
  friend bool operator==(const Partition&, const Partition&) = default;
};

using model::Vendor;

/// Whether a program that starts now counts it (numbers.h says what follows).
enum class Counted : std::uint8_t {
  Yes,
  Maybe,  // the driver lists it, and calls it lost, or does not give it: CUDA may count it or not
  No,     // the driver does not list it any more
};

struct Gpu {
  std::string uuid;  // "" where the driver cannot say it
  std::string model;
  std::int64_t memory_mib = 0;
  std::string pci_bus_id;  // 00000000:1B:00.0; "" where the driver cannot say it
  int numa_node = -1;      // -1: none, or not known
  model::Health health = model::Health::Healthy;
  std::string reason;  // why it is not Healthy
  std::vector<Partition> partitions;
  std::string compute{};    // what code it runs: "9.0" of CUDA, "gfx942" of AMD's; "" where nobody can say it
  bool is_cleared = false;  // the driver says that nothing is to be done about it: errors of before are over
  Counted counted = Counted::Yes;
  /// Of one without an address: it lies above this address on the bus; "" nobody knows where it is.
  std::string above{};
  bool partitions_unread = false;  // whether it is split, and how, could not be read
  bool says_no_mig = false;        // the driver says that it cannot be split
  bool id_moved = false;           // whoever is told its id may get another GPU
  Vendor vendor = Vendor::Nvidia;
  std::string driver_version{};  // "": that of the Hardware
  int minor = -1;                // of /dev/nvidia<minor>; -1: none, or not known
  std::string render_node{};     // "/dev/dri/renderD128"; "" none, or not known
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// By UUID; where one of the two has none, by its address.
[[nodiscard]] bool isSame(const Gpu& a, const Gpu& b);
/// What `gpu` does not say of itself is as it was before: names, address, place, memory.
void fillInWhatItIs(Gpu& gpu, const Gpu& before);

/// Between two GPUs, by their places in Hardware::gpus; the best one where there are several.
struct PairLink {
  std::size_t a = 0;
  std::size_t b = 0;
  LinkType type = LinkType::Pcie;
  std::int64_t gbps = 0;  // both directions together, as vendors count
  friend bool operator==(const PairLink&, const PairLink&) = default;
};

struct Hardware {
  std::string driver_version;
  std::vector<Gpu> gpus;  // in any order
  std::vector<PairLink> links;
  friend bool operator==(const Hardware&, const Hardware&) = default;
};

/// Why there is no Hardware.
struct Fault {
  enum class Kind : std::uint8_t {
    Absent,   // there is no driver
    Hanging,  // a call has not come back
    Failing,  // it answers with an error
  };
  Kind kind{};
  std::string text;  // a sentence for people
  friend bool operator==(const Fault&, const Fault&) = default;
};

/// One look at the GPUs of the node.
using Look = tl::expected<Hardware, Fault>;
using LookPtr = std::shared_ptr<const Look>;

}  // namespace gs::agent
