// The functions of rocm_smi that are called (see rocm.h). Only rocm*.cc include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "noderim/library.h"

namespace gs::noderim {

// Answers.
inline constexpr int kRocmOk = 0;
inline constexpr int kRocmUnsupported = 2;
// Arguments.
inline constexpr std::uint64_t kRocmAmdOnly = 0;  // GPUs of others are not counted
inline constexpr int kRocmVram = 0;
inline constexpr int kRocmDriver = 0;

template <class... Args>
using RocmCall = LibraryCall<kRocmUnsupported, Args...>;

struct RocmCalls {
  /// Error NotFound: no such library, or it cannot be loaded; Invalid: it is not rocm_smi.
  [[nodiscard]] static Result<std::unique_ptr<RocmCalls>> load(const std::string& library);
  explicit RocmCalls(Library library) : library_{std::move(library)} {}
  /// "An item required to complete the call was not found (10)"
  [[nodiscard]] std::string text(int code) const;

  RocmCall<std::uint64_t> init;
  RocmCall<> shut_down;
  RocmCall<std::uint32_t*> count;
  RocmCall<std::uint32_t, std::uint64_t*> pci_id, unique_id;
  RocmCall<std::uint32_t, int, std::uint64_t*> memory_total;
  RocmCall<std::uint32_t, char*, std::size_t> name;
  RocmCall<int, char*, std::uint32_t> version;

 private:
  Library library_;
  RocmCall<int, const char**> status_text_;
};

}  // namespace gs::noderim
