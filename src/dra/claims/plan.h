// What the claims of a pod ask for, as the search needs it: their requests in one row, numbered through.
// Only src/dra/claims/ includes this; others see claim_plan.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cel/selector.h"
#include "model/dra.h"

namespace gs::dra {

using model::kMaxResults;

/// What evaluating selectors may cost for one step of the search (cel::kMaxCost says what that is).
inline constexpr std::uint64_t kCostOfAStep = 16;

/// Selectors of a class and of a request, which have to hold of a device, in the order of evaluation.
using Matcher = std::vector<cel::Selector>;

/// A constraint of a claim.
struct Rule {
  std::size_t claim = 0;
  bool distinct = false;  // else: all have one value
  model::QualifiedName attribute;
};

struct Way {
  std::string name;  // as results say it: "request", "request/way"
  std::string device_class;
  std::size_t matcher = 0;  // of Plan::matchers
  std::size_t list = 0;     // of All: its place among those
  bool all = false;
  std::size_t count = 0;  // of ExactCount: at least 1
  std::vector<model::Toleration> tolerations;
  std::vector<std::size_t> rules;  // that its devices have to meet, of Plan::rules
};

struct Request {
  std::size_t claim = 0;
  std::string name;
  std::vector<Way> ways;  // at least one
  /// Those with one way, of ExactCount: which others want the same devices, constraints aside. Else kNoGroup.
  std::size_t group = 0;
  /// What the request before it has, this one may have instead: so it need not look at devices that stand
  /// before those of that one.
  bool like_last = false;
  /// The first of a claim, of ExactCount: what the claim before it has, this one may have instead. So its
  /// first device may stand behind the first one of that claim.
  bool like_claim = false;
};
inline constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

struct Plan {
  std::vector<std::string> claims;  // by which names texts know them
  std::vector<Request> requests;    // claim by claim
  std::vector<Matcher> matchers;    // each once
  std::vector<Rule> rules;
  std::size_t lists = 0;   // ways that are All
  std::size_t groups = 0;  // of requests
};

}  // namespace gs::dra
