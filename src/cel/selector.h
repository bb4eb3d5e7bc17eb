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
// Limits: 10 KiB of text, 64 levels of nesting, 16 patterns; evaluation looks at each part once at most,
// and contains() and matches() may cost what Kubernetes allows.
// Differs from Kubernetes: a quantity over 2^63 or of more than 19 digits, and a version with a number over
// 2^63, are errors; patterns are RE2's own, not Go's.
// Immutable; copies share the program; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/dra.h"

namespace gs::cel {

struct Program;

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
  /// Of a device that `driver` published.
  [[nodiscard]] Outcome matches(std::string_view driver, const model::SliceDevice& device) const;
  [[nodiscard]] const std::string& text() const;

 private:
  explicit Selector(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

}  // namespace gs::cel
