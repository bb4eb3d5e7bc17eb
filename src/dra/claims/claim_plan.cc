#include "dra/claims/claim_plan.h"

#include <fmt/core.h>

#include "dra/claims/plan.h"
#include "dra/claims/search.h"
#include "dra/claims/view.h"
#include "dra/claims/why.h"

namespace gs::dra {

namespace {

Picked searched(const Plan& plan, View& view, Steps& steps, std::uint64_t had, std::string_view trouble) {
  Search search{plan, view, steps, trouble};
  const Search::End end = search.run();
  if (end == Search::End::Stopped) {
    if (!search.fault().empty()) { return {Lack::Fault, {}, search.fault(), search.brief()}; }
    const auto why = fmt::format("could not be decided within {} steps", had);
    return {Lack::Steps, {}, why, why};
  }
  if (end != Search::End::Fits) { return whyNot(plan, view, steps); }
  Picked out;
  out.results.resize(plan.claims.size());
  for (const Search::Given& one : search.given()) {
    out.results[one.request->claim].push_back({one.way->name, view.at(one.place).name, false});
  }
  return out;
}

}  // namespace

Picked ClaimPlan::pick(const std::vector<Candidate>& devices, std::uint64_t& steps_left,
                       std::string_view trouble) const {
  const std::uint64_t had = steps_left;
  Steps steps{steps_left};
  View view{*plan_, devices};
  Picked out = searched(*plan_, view, steps, had, trouble);
  out.cost = view.cost();
  return out;
}

}  // namespace gs::dra
