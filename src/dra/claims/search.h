// The search for devices: request by request, each from the first place of View on, and back when a later
// one finds nothing. It finds what a search without any shortcut would find first, and meets an error exactly
// when that one would. Its shortcuts:
//   - The devices of a request stand in the order of their places; those of a request that is like the one
//     before it (Request::like_last) after those of that one; so it is with claims (like_claim). The other
//     orders give the same sets of devices.
//   - Too few devices are left that the request might have yet: no choice among them helps. Only where
//     selectors were evaluated on all of these: else an error might be missed.
//   - Once something was taken back: can a later request not be served any more, or not all of those that
//     want the same devices? Only where selectors fail on no device, and no constraint is on an All, so that
//     no error can be missed.
#pragma once

#include <string>
#include <vector>

#include "dra/claims/plan.h"
#include "dra/claims/rule_state.h"
#include "dra/claims/view.h"

namespace gs::dra {

class Search {
 public:
  struct Given {
    const Request* request;
    const Way* way;
    std::size_t place;
  };
  enum class End : std::uint8_t {
    Fits,
    No,
    TooMany,  // No, since its claim would have more than 32 devices, whichever they are. Of no whole claim.
    Stopped,  // by fault(), or without steps
  };

  /// All outlive it.
  Search(const Plan& plan, View& view, Steps& steps, std::string_view trouble);

  [[nodiscard]] End run();
  /// After Fits: by request.
  [[nodiscard]] const std::vector<Given>& given() const { return given_; }
  /// After Stopped: why; "": it had no steps left.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] const std::string& brief() const { return brief_; }
  /// The devices of a way that is All.
  [[nodiscard]] const std::vector<std::size_t>& listOf(const Way& way) const { return lists_[way.list]; }

 private:
  /// Finds out which devices ways mean that are All. False: stopped.
  bool listAll(std::string_view trouble);
  bool checkSizes();
  /// `brief`: without what is this node's; "": it is that already.
  End stop(std::string fault, std::string brief = "");

  End request(std::size_t number);

  End way(const Request& request, const Way& way, std::size_t have, std::size_t from);
  End all(const Request& request, const Way& way, std::size_t have);
  End some(const Request& request, const Way& way, std::size_t have, std::size_t from);

  [[nodiscard]] std::size_t need(const Way& way) const { return way.all ? listOf(way).size() : way.count; }
  [[nodiscard]] std::size_t numberOf(const Request& request) const {
    return static_cast<std::size_t>(&request - plan_.requests.data());
  }
  [[nodiscard]] bool free(std::size_t place) const { return view_.open(place) && used_[place] == 0; }
  [[nodiscard]] bool met(const Way& way, std::size_t place) const;
  void give(const Request& request, const Way& way, std::size_t place);
  void takeBack();

  /// Where the request has to look first.
  [[nodiscard]] std::size_t firstPlace(const Request& request) const;
  /// How many devices from that place on it might have yet, at most `enough`; also where that is not known.
  std::size_t mayHave(const Way& way, std::size_t from, std::size_t enough, bool with_rules = true);
  /// Evaluates what is not yet known, once. False: stopped.
  bool lookAhead();
  /// No request from that one on is known to find too few.
  bool hopeful(std::size_t number);
  bool hopefulOf(const Request& request);

  const Plan& plan_;
  View& view_;
  Steps& steps_;
  std::string_view trouble_;
  std::vector<std::vector<std::size_t>> lists_;
  std::vector<RuleState> rules_;
  std::vector<char> used_;
  std::vector<std::size_t> in_claim_;  // devices given
  std::vector<std::size_t> wanted_;    // by group of requests
  std::vector<Given> given_;
  std::string fault_;
  std::string brief_;
  bool looked_ahead_ = false;
  bool calm_ = false;  // no error can come
};

}  // namespace gs::dra
