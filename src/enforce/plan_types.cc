#include "enforce/plan_types.h"

#include <array>

namespace gs::enforce {

const char* reasonName(Reason reason) {
  constexpr std::array<const char*, kReasons> kNames{
      "not_known",      "unverified", "refuted",      "differs",        "held_by_other", "none_free",
      "unknown_device", "no_way",     "stands_twice", "cdi_annotation", "too_many"};
  return kNames.at(static_cast<std::size_t>(reason));
}

const char* remarkName(Remark remark) {
  constexpr std::array<const char*, kRemarks> kNames{
      "adjusted", "moved", "hidden", "privileged", "trusted", "still_in_use", "cdi_annotation", "untold"};
  return kNames.at(static_cast<std::size_t>(remark));
}

}  // namespace gs::enforce
