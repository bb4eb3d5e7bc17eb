// The devices of one node as one search sees them: numbered from the last of the list to the first, with what
// selectors say of them, which is asked once of each, and with the values that constraints compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dra/claims/claim_plan.h"
#include "dra/claims/plan.h"

namespace gs::dra {

/// What is left of the steps.
class Steps {
 public:
  explicit Steps(std::uint64_t& left) : left_{left} {}
  /// False: there were fewer than that; none are left now.
  [[nodiscard]] bool spend(std::uint64_t count = 1) {
    if (left_ < count) {
      left_ = 0;
      out_ = true;
      return false;
    }
    left_ -= count;
    return true;
  }
  [[nodiscard]] bool out() const { return out_; }

 private:
  std::uint64_t& left_;
  bool out_ = false;
};

class View {
 public:
  enum class Match : std::uint8_t { Unknown, Yes, No, Error };
  /// Values of an attribute as numbers: equal ones have the same.
  static constexpr int kAbsent = -1;
  static constexpr int kUnserved = -2;

  View(const Plan& plan, const std::vector<Candidate>& devices);

  [[nodiscard]] std::size_t size() const { return devices_.size(); }
  [[nodiscard]] const Candidate& at(std::size_t place) const { return devices_[devices_.size() - 1 - place]; }
  /// It could be given, if nobody in the pod has it.
  [[nodiscard]] bool open(std::size_t place) const { return open_[place] != 0; }
  /// A taint keeps the way from it.
  [[nodiscard]] bool tainted(const Way& way, std::size_t place) const;
  /// As far as it is known.
  [[nodiscard]] Match known(std::size_t matcher, std::size_t place) const {
    return matches_[matcher * size() + place];
  }
  /// Each selector costs a step, and another one for each kCostOfAStep of what it cost. Unknown: they were
  /// used up.
  Match ask(std::size_t matcher, std::size_t place, Steps& steps);
  /// Of the last answer that was Match::Error.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::string& brief() const { return brief_; }  // without the device, and cut
  /// What all selectors cost so far.
  [[nodiscard]] std::uint64_t cost() const { return cost_; }
  [[nodiscard]] int value(std::size_t rule, std::size_t place) const {
    return values_[rule * size() + place];
  }

 private:
  Match evaluate(std::size_t matcher, std::size_t place, Steps& steps);

  const Plan& plan_;
  const std::vector<Candidate>& devices_;
  std::vector<char> open_;
  std::vector<Match> matches_;
  std::vector<int> values_;
  std::uint64_t cost_ = 0;
  std::string error_;
  std::string brief_;
};

}  // namespace gs::dra
