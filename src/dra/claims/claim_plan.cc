#include "dra/claims/claim_plan.h"

#include <fmt/core.h>

#include "dra/claims/plan.h"
#include "dra/claims/search.h"
#include "dra/claims/view.h"
#include "dra/claims/why.h"

namespace gs::dra {

Picked ClaimPlan::pick(const std::vector<Candidate>& devices, std::uint64_t& steps_left,
                       std::string_view trouble) const {
  const std::uint64_t had = steps_left;
  Steps steps{steps_left};
  View view{*plan_, devices};
  Search search{*plan_, view, steps, trouble};
  const Search::End end = search.run();
  if (end == Search::End::Stopped) {
    if (!search.fault().empty()) { return {Lack::Fault, {}, search.fault(), search.brief()}; }
    const auto why = fmt::format("could not be decided within {} steps", had);
    return {Lack::Steps, {}, why, why};
  }
  if (end != Search::End::Fits) { return whyNot(*plan_, view, steps); }
  Picked out;
  out.results.resize(plan_->claims.size());
  for (const Search::Given& one : search.given()) {
    out.results[one.request->claim].push_back({one.way->name, view.at(one.place).name, false});
  }
  return out;
}

}  // namespace gs::dra
