// The functions of NVML that are called, and the structs that they fill (see nvml.h). Only nvml*.cc include
// this.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "noderim/library.h"

namespace gs::noderim {

using NvmlDevice = void*;

// Answers.
inline constexpr int kNvmlOk = 0;
inline constexpr int kNvmlInvalid = 2;
inline constexpr int kNvmlUnsupported = 3;
inline constexpr int kNvmlForbidden = 4;
inline constexpr int kNvmlNotFound = 6;
inline constexpr int kNvmlNoDriver = 9;
inline constexpr int kNvmlNoFunction = 13;
inline constexpr int kNvmlLost = 15;
inline constexpr int kNvmlResetRequired = 16;
inline constexpr int kNvmlMismatch = 18;
inline constexpr int kNvmlVersion = 25;  // of a struct, that the library does not know
inline constexpr int kNvmlUnknown = 999;

struct NvmlMemory {
  std::uint64_t total, free, used;
};
static_assert(sizeof(NvmlMemory) == 24);
struct NvmlMemoryV2 {
  std::uint32_t version = 0x02000028;
  std::uint64_t total = 0, reserved = 0, free = 0, used = 0;
};
static_assert(sizeof(NvmlMemoryV2) == 40);
struct NvmlPci {
  std::array<char, 16> bus_id_legacy;
  std::uint32_t domain, bus, device, pci_device_id, subsystem;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(NvmlPci) == 68);
struct NvmlField {
  std::uint32_t field, scope;
  std::int64_t timestamp, latency;
  std::uint32_t type;  // 0 double, 1 u32, 2 unsigned long, 3 u64, 4 i64, 5 i32, 6 u16
  int answer;
  std::uint64_t value;
};
static_assert(sizeof(NvmlField) == 40);
struct NvmlEvent {
  NvmlDevice device;
  std::uint64_t type, data;
  std::uint32_t gpu_instance, compute_instance;
};
static_assert(sizeof(NvmlEvent) == 32);
struct NvmlFabric {
  std::uint32_t version = 0x03000028;
  std::array<std::uint8_t, 16> cluster{};
  std::uint32_t status = 0, clique = 0;
  std::uint8_t state = 0;
  std::uint32_t health = 0;
  std::uint8_t summary = 0;
};
static_assert(sizeof(NvmlFabric) == 40);
inline constexpr std::uint32_t kFabricV2 = 0x02000024;  // the same without the summary
struct NvmlAttributes {
  std::array<std::uint32_t, 8> counts;
  std::uint64_t memory_mib;
};
static_assert(sizeof(NvmlAttributes) == 40);

template <class... Args>
using NvmlCall = LibraryCall<kNvmlNoFunction, Args...>;

struct NvmlCalls {
  /// Error NotFound: no such library, or it cannot be loaded; Invalid: it is not NVML.
  [[nodiscard]] static Result<std::unique_ptr<NvmlCalls>> load(const std::string& library);
  explicit NvmlCalls(Library library) : library_{std::move(library)} {}
  /// "GPU is lost (15)"
  [[nodiscard]] std::string text(int code) const;

  NvmlCall<> init, shutdown;
  NvmlCall<char*, unsigned> driver_version;
  NvmlCall<unsigned*> count;
  NvmlCall<unsigned, NvmlDevice*> by_index;
  NvmlCall<NvmlDevice, char*, unsigned> uuid, name;
  NvmlCall<NvmlDevice, unsigned*> minor_number, numa, max_pcie_generation, max_pcie_width, max_mig;
  NvmlCall<NvmlDevice, int*, int*> compute;
  NvmlCall<NvmlDevice, NvmlMemory*> memory;
  NvmlCall<NvmlDevice, NvmlMemoryV2*> memory_v2;
  NvmlCall<NvmlDevice, NvmlPci*> pci;
  NvmlCall<NvmlDevice, NvmlDevice, int, int*> p2p;
  NvmlCall<NvmlDevice, NvmlDevice, int*> ancestor;
  NvmlCall<NvmlDevice, unsigned, unsigned*> link_state;
  NvmlCall<NvmlDevice, unsigned, NvmlPci*> link_remote_pci;
  NvmlCall<NvmlDevice, unsigned, int*> link_remote_type;
  NvmlCall<NvmlDevice, int, NvmlField*> fields;
  NvmlCall<NvmlDevice, NvmlFabric*> fabric;
  NvmlCall<NvmlDevice, unsigned*, unsigned*> mig_mode;
  NvmlCall<NvmlDevice, unsigned, NvmlDevice*> mig_by_index;
  NvmlCall<NvmlDevice, NvmlAttributes*> attributes;
  NvmlCall<NvmlDevice, int, int, std::uint64_t*> ecc_errors;
  NvmlCall<NvmlDevice, unsigned*, unsigned*, unsigned*, unsigned*> remapped_rows;
  NvmlCall<void**> event_set_create;
  NvmlCall<void*> event_set_free;
  NvmlCall<NvmlDevice, std::uint64_t*> supported_events;
  NvmlCall<NvmlDevice, std::uint64_t, void*> register_events;
  NvmlCall<void*, NvmlEvent*, unsigned> event_wait;

 private:
  Library library_;
  const char* (*error_text_)(int) = nullptr;
};

}  // namespace gs::noderim
