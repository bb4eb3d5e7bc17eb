// The part of CEL in which selectors of DRA say which devices they mean (spec.selectors of a DeviceClass,
// and those of a ResourceClaim's requests), interpreted.
//
// Where the meaning comes from: the CEL specification (github.com/google/cel-spec), and what Kubernetes
// makes of it for devices (k8s.io/dynamic-resource-allocation/cel over cel-go). test/dra/compare-selectors
// compares the two.
// Served:
//   device.driver; device.attributes["domain"].name and device.capacity["domain"].name, also by ["name"]
//   true, false, whole numbers, texts, lists behind `in`; == != < <= > >= in && || ! - ?: and parentheses
//   has(), size(), startsWith(), endsWith(), contains(), matches() of a written pattern, lowerAscii()
//   semver(), isSemver(), major(), minor(), patch(); quantity(), isQuantity()
//   compareTo(), isLessThan(), isGreaterThan(); cel.bind()
// All else is refused when the selector is read, also where Kubernetes would take it; so is what
// Kubernetes' type check refuses (device.driver == 1). Errors name the construct and where it stands.
// A domain that the device lacks is empty; a name that it lacks is an error, which && and || may get over,
// whichever side it stands on. Values of different types are not equal, and have no order.
// Limits: 10 KiB of text, 64 levels of nesting, 16 patterns, and kMaxPatterns for what these are like when
// compiled; for a device no more than kMaxCost, which only texts of kilobytes make it: the device's have 64
// bytes at most. (Kubernetes bounds the cost too, by the length of a pattern; but a short one may cost more
// than a long one, see pattern/pattern.h.)
// Differs from Kubernetes: a quantity over 2^63 or of more than 19 digits, and a version with a number over
// 2^63, are errors; patterns are RE2's own, not Go's.
// Immutable; copies share the program; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/dra.h"

namespace gs::cel {

struct Program;

/// The patterns of a selector together, by Pattern::size(). 2,000 letters in patterns are some 2,000; to
/// compile as much takes some ms.
inline constexpr std::size_t kMaxPatterns = 4'096;
/// What one device may cost: 1 for each operation, about, and more for what it does with long texts and
/// patterns. Some 30 ns each.
inline constexpr std::uint64_t kMaxCost = 100'000;

/// Whether a device is meant, or why that cannot be said. An error is not "no": Kubernetes gives the pod no
/// devices at all then.
struct Outcome {
  bool matches = false;
  std::string error;  // "": there is none
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

class Selector {
 public:
  /// Error Invalid.
  [[nodiscard]] static Result<Selector> parse(std::string_view text);
  /// One of several whose patterns may have `patterns_left` together, by Pattern::size(). What this one has
  /// is taken off; all, where it has too many or one that is none.
  [[nodiscard]] static Result<Selector> parse(std::string_view text, std::size_t& patterns_left);
  /// Of a device that `driver` published. `cost`: what it takes is added; nullptr: nobody counts. One
  /// operation may pass kMaxCost, and is an error.
  [[nodiscard]] Outcome matches(std::string_view driver, const model::SliceDevice& device,
                                std::uint64_t* cost = nullptr) const;
  /// At the same place in copies.
  [[nodiscard]] const std::string& text() const;

 private:
  explicit Selector(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

}  // namespace gs::cel
