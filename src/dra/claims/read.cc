// Claims as they are written -> Plan.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/because.h"
#include "dra/claims/claim_plan.h"
#include "dra/claims/plan.h"

namespace gs::dra {
namespace {

/// The constraint names it: "request" means all ways of it, "request/way" that one.
bool concerns(const model::DeviceConstraint& constraint, const std::string& request, const std::string& way) {
  const auto& named = constraint.requests;
  return named.empty() || std::find(named.begin(), named.end(), request) != named.end() ||
         std::find(named.begin(), named.end(), way) != named.end();
}

bool single(const Request& request) { return request.ways.size() == 1 && !request.ways.front().all; }

/// They want the same devices, constraints aside.
bool sameGroup(const Request& a, const Request& b) {
  return single(a) && single(b) && a.ways.front().matcher == b.ways.front().matcher &&
         a.ways.front().tolerations == b.ways.front().tolerations;
}

/// `shift`: by how much the numbers of constraints of `b` are higher.
bool alike(const Way& a, const Way& b, std::size_t shift) {
  return a.matcher == b.matcher && a.all == b.all && a.count == b.count && a.tolerations == b.tolerations &&
         std::equal(a.rules.begin(), a.rules.end(), b.rules.begin(), b.rules.end(),
                    [shift](std::size_t one, std::size_t other) { return one + shift == other; });
}

bool alike(const Request& a, const Request& b, std::size_t shift) {
  return std::equal(a.ways.begin(), a.ways.end(), b.ways.begin(), b.ways.end(),
                    [shift](const Way& one, const Way& other) { return alike(one, other, shift); });
}

bool alike(const Rule& a, const Rule& b) { return a.distinct == b.distinct && a.attribute == b.attribute; }

class Reading {
 public:
  explicit Reading(const Classes& classes) : classes_{classes} {}

  Status claim(const model::ResourceClaim& claim) {
    at_ = "claim " + claim.key.text();
    const Part last = part_;
    part_ = {plan_.requests.size(), plan_.rules.size()};
    for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
      if (auto read = constraint(claim.constraints[i], i); !read) { return read; }
    }
    std::size_t least = 0;
    for (const model::DevicesRequest& asked : claim.requests) {
      auto made = request(claim, asked);
      if (!made) { return because(std::move(made.error())); }
      std::size_t fewest = kMaxResults + 1;
      for (const Way& way : made->ways) { fewest = std::min(fewest, way.count); }
      least += fewest;
      add(std::move(*made));
    }
    if (least > kMaxResults) {
      return refused(fmt::format(
          "its requests need more than {} devices; ask for fewer, or make several claims", kMaxResults));
    }
    if (likeClaim(last)) { plan_.requests[part_.request].like_claim = true; }
    plan_.claims.push_back(claim.key.text());
    return {};
  }

  Plan take() { return std::move(plan_); }
  [[nodiscard]] std::size_t patterns() const { return cel::kMaxPatterns - patterns_left_; }

 private:
  /// Where the requests and constraints of a claim begin.
  struct Part {
    std::size_t request = 0;
    std::size_t rule = 0;
  };

  void add(Request request) {
    auto& all = plan_.requests;
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&request](const Request& one) { return sameGroup(one, request); });
    request.group = !single(request) ? kNoGroup : same == all.end() ? plan_.groups++ : same->group;
    request.like_last = !all.empty() && sameGroup(all.back(), request) &&
                        all.back().ways.front().rules == request.ways.front().rules;
    all.push_back(std::move(request));
  }

  /// The claim that was just read is like the one before it, whose parts begin at `last`.
  bool likeClaim(const Part& last) const {
    const auto requests = plan_.requests.begin();
    const auto rules = plan_.rules.begin();
    const auto at = [](auto begin, std::size_t n) { return begin + static_cast<std::ptrdiff_t>(n); };
    const std::size_t shift = part_.rule - last.rule;
    return last.request < part_.request && part_.request < plan_.requests.size() &&
           single(plan_.requests[part_.request]) &&
           std::equal(at(requests, last.request), at(requests, part_.request), at(requests, part_.request),
                      plan_.requests.end(),
                      [shift](const Request& a, const Request& b) { return alike(a, b, shift); }) &&
           std::equal(at(rules, last.rule), at(rules, part_.rule), at(rules, part_.rule), plan_.rules.end(),
                      [](const Rule& a, const Rule& b) { return alike(a, b); });
  }

  tl::unexpected<Error> refused(const std::string& why) const {
    return fail(Code::Invalid, fmt::format("{}: {}", at_, why));
  }

  Status constraint(const model::DeviceConstraint& one, std::size_t number) {
    if (!one.unsupported.empty()) {
      return refused(fmt::format("constraint {}: {} is not served; write matchAttribute or distinctAttribute",
                                 number, one.unsupported));
    }
    const bool matches = !one.match.name.empty();
    if (matches == !one.distinct.name.empty()) {
      return refused(fmt::format(
          "constraint {}: write either matchAttribute or distinctAttribute, as \"domain/name\"", number));
    }
    plan_.rules.push_back({plan_.claims.size(), !matches, matches ? one.match : one.distinct});
    return {};
  }

  Result<Request> request(const model::ResourceClaim& claim, const model::DevicesRequest& asked) {
    Request out;
    out.claim = plan_.claims.size();
    out.name = asked.name;
    if (asked.ways.empty()) {
      return refused(
          fmt::format("request {} says neither exactly nor firstAvailable; write one of them", asked.name));
    }
    for (const model::DeviceSubRequest& one : asked.ways) {
      auto made = way(claim, asked.name, one);
      if (!made) { return because(std::move(made.error())); }
      out.ways.push_back(std::move(*made));
    }
    return out;
  }

  Result<Way> way(const model::ResourceClaim& claim, const std::string& request,
                  const model::DeviceSubRequest& asked) {
    Way out;
    out.name = asked.name.empty() ? request : request + "/" + asked.name;
    out.device_class = asked.device_class;
    out.all = asked.all;
    out.tolerations = asked.tolerations;
    if (!asked.unsupported.empty()) {
      return refused(fmt::format("request {}: {} is not served; leave it out", out.name, asked.unsupported));
    }
    if (!asked.all && asked.count < 1) {
      return refused(
          fmt::format("request {}: count {} is not served; write at least 1", out.name, asked.count));
    }
    out.count =
        asked.all ? 0 : static_cast<std::size_t>(std::min<std::int64_t>(asked.count, kMaxResults + 1));
    auto of = matcher(asked, out.name);
    if (!of) { return because(std::move(of.error())); }
    out.matcher = *of;
    if (asked.all) { out.list = plan_.lists++; }
    for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
      if (concerns(claim.constraints[i], request, out.name)) { out.rules.push_back(part_.rule + i); }
    }
    return out;
  }

  Result<std::size_t> matcher(const model::DeviceSubRequest& asked, const std::string& name) {
    const auto found = classes_.find(asked.device_class);
    if (found == classes_.end()) {
      return fail(Code::NotFound,
                  fmt::format("{}: request {}: there is no DeviceClass {}; create it, or name another one",
                              at_, name, asked.device_class));
    }
    Matcher out;
    for (const std::string& text : found->second->selectors) {
      auto selector = selectorOf(text);
      if (!selector) {
        return refused(fmt::format("request {}: DeviceClass {}: {}", name, asked.device_class,
                                   selector.error().message));
      }
      out.push_back(std::move(*selector));
    }
    for (const std::string& text : asked.selectors) {
      auto selector = selectorOf(text);
      if (!selector) { return refused(fmt::format("request {}: {}", name, selector.error().message)); }
      out.push_back(std::move(*selector));
    }
    return place(std::move(out));
  }

  /// Each text is parsed once: very many requests may be of one class.
  Result<cel::Selector> selectorOf(const std::string& text) {
    const auto known = selectors_.find(text);
    if (known != selectors_.end()) { return known->second; }
    auto made = cel::Selector::parse(text, patterns_left_);
    if (made) { selectors_.emplace(text, *made); }
    return made;
  }

  /// Of an equal one that is there already, or of this one.
  std::size_t place(Matcher matcher) {
    const auto same = [&matcher](const Matcher& other) {
      return std::equal(
          matcher.begin(), matcher.end(), other.begin(), other.end(),
          [](const cel::Selector& a, const cel::Selector& b) { return &a.text() == &b.text(); });
    };
    const auto found = std::find_if(plan_.matchers.begin(), plan_.matchers.end(), same);
    const auto at = static_cast<std::size_t>(found - plan_.matchers.begin());
    if (found == plan_.matchers.end()) { plan_.matchers.push_back(std::move(matcher)); }
    return at;
  }

  const Classes& classes_;
  std::unordered_map<std::string_view, cel::Selector> selectors_;  // by text, of classes and claims
  std::size_t patterns_left_ = cel::kMaxPatterns;
  Plan plan_;
  std::string at_;  // the claim that is read
  Part part_;       // of it
};

}  // namespace

Result<ClaimPlan> ClaimPlan::read(const std::vector<const model::ResourceClaim*>& claims,
                                  const Classes& classes, std::size_t* patterns) {
  Reading reading{classes};
  Status all;
  for (const model::ResourceClaim* claim : claims) {
    all = reading.claim(*claim);
    if (!all) { break; }
  }
  if (patterns != nullptr) { *patterns += reading.patterns(); }
  if (!all) { return because(std::move(all.error())); }
  return ClaimPlan{std::make_shared<const Plan>(reading.take())};
}

}  // namespace gs::dra
