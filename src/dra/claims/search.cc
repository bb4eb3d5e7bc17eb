#include "dra/claims/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace gs::dra {

using Match = View::Match;

Search::Search(const Plan& plan, View& view, Steps& steps, std::string_view trouble)
    : plan_{plan},
      view_{view},
      steps_{steps},
      trouble_{trouble},
      lists_(plan.lists),
      used_(view.size()),
      in_claim_(plan.claims.size()) {
  for (const Rule& rule : plan.rules) { rules_.emplace_back(rule.distinct); }
}

Search::End Search::run() {
  if (!listAll(trouble_) || !checkSizes()) { return End::Stopped; }
  return request(0);
}

Search::End Search::stop(std::string fault, std::string brief) {
  fault_ = std::move(fault);
  brief_ = brief.empty() ? fault_ : std::move(brief);
  return End::Stopped;
}

bool Search::listAll(std::string_view trouble) {
  for (const Request& request : plan_.requests) {
    for (const Way& way : request.ways) {
      if (!way.all) { continue; }
      if (!trouble.empty()) {
        const auto asks = fmt::format("request {} of claim {} asks for all devices, but not all are known",
                                      way.name, plan_.claims[request.claim]);
        stop(fmt::format("{}: {}", asks, trouble), asks);
        return false;
      }
      for (std::size_t place = 0; place < view_.size(); ++place) {
        if (!steps_.spend()) { return false; }
        const Match match = view_.ask(way.matcher, place, steps_);
        if (match == Match::Unknown) { return false; }
        if (match == Match::Error) {
          stop(view_.error(), view_.brief());
          return false;
        }
        if (match == Match::Yes) { lists_[way.list].push_back(place); }
      }
    }
  }
  return true;
}

bool Search::checkSizes() {
  std::vector<std::size_t> least(plan_.claims.size());
  for (const Request& request : plan_.requests) {
    std::size_t fewest = need(request.ways.front());
    for (const Way& way : request.ways) { fewest = std::min(fewest, need(way)); }
    std::size_t& sum = least[request.claim];
    sum += fewest;
    if (sum > kMaxResults) {
      stop(fmt::format("claim {} needs more than {} devices on this node", plan_.claims[request.claim],
                       kMaxResults));
      return false;
    }
  }
  return true;
}

Search::End Search::request(std::size_t number) {
  if (number == plan_.requests.size()) { return End::Fits; }
  if (calm_ && !hopeful(number)) { return steps_.out() ? End::Stopped : End::No; }
  const Request& request = plan_.requests[number];
  const std::size_t from = firstPlace(request);
  bool too_many = true;
  for (const Way& one : request.ways) {
    const End end = way(request, one, 0, from);
    if (end == End::TooMany) { continue; }
    too_many = false;
    if (end != End::No) { return end; }
    if (!lookAhead()) { return End::Stopped; }
  }
  return too_many ? End::TooMany : End::No;
}

Search::End Search::way(const Request& request, const Way& way, std::size_t have, std::size_t from) {
  if (way.all && listOf(way).empty()) { return End::No; }
  if (have == need(way)) { return this->request(numberOf(request) + 1); }
  if (need(way) - have > kMaxResults - in_claim_[request.claim]) { return End::TooMany; }
  if (calm_ && have > 0 && !hopeful(numberOf(request) + 1)) { return steps_.out() ? End::Stopped : End::No; }
  return way.all ? all(request, way, have) : some(request, way, have, from);
}

Search::End Search::all(const Request& request, const Way& way, std::size_t have) {
  const std::size_t place = listOf(way)[have];
  if (!steps_.spend()) { return End::Stopped; }
  if (!free(place) || view_.tainted(way, place)) { return End::No; }
  if (!met(way, place)) {
    const auto text = [&](const std::string& which) {
      return fmt::format(
          "request {} of claim {} asks for all devices, and {} does not meet a constraint with the others",
          way.name, plan_.claims[request.claim], which);
    };
    return stop(text(view_.at(place).name.device), text("one"));
  }
  give(request, way, place);
  const End end = this->way(request, way, have + 1, 0);
  if (end != End::Fits) { takeBack(); }
  return end;
}

Search::End Search::some(const Request& request, const Way& way, std::size_t have, std::size_t from) {
  const std::size_t missing = way.count - have;
  if (mayHave(way, from, missing) < missing) { return steps_.out() ? End::Stopped : End::No; }
  for (std::size_t place = from; place < view_.size(); ++place) {
    if (!steps_.spend()) { return End::Stopped; }
    if (!free(place)) { continue; }
    const Match match = view_.ask(way.matcher, place, steps_);
    if (match == Match::Unknown) { return End::Stopped; }
    if (match == Match::Error) { return stop(view_.error(), view_.brief()); }
    if (match == Match::No || view_.tainted(way, place) || !met(way, place)) { continue; }
    give(request, way, place);
    const End end = this->way(request, way, have + 1, place + 1);
    if (end == End::Fits) { return end; }
    takeBack();
    if (end != End::No) { return end; }
    if (!lookAhead()) { return End::Stopped; }
  }
  return End::No;
}

bool Search::met(const Way& way, std::size_t place) const {
  return std::all_of(way.rules.begin(), way.rules.end(), [this, place](std::size_t rule) {
    return rules_[rule].takes(view_.value(rule, place));
  });
}

void Search::give(const Request& request, const Way& way, std::size_t place) {
  for (const std::size_t rule : way.rules) { rules_[rule].add(view_.value(rule, place)); }
  used_[place] = 1;
  ++in_claim_[request.claim];
  given_.push_back({&request, &way, place});
}

void Search::takeBack() {
  const Given& last = given_.back();
  for (const std::size_t rule : last.way->rules) { rules_[rule].remove(); }
  used_[last.place] = 0;
  --in_claim_[last.request->claim];
  given_.pop_back();
}

std::size_t Search::firstPlace(const Request& request) const {
  if (request.like_last) { return given_.back().place + 1; }
  if (!request.like_claim) { return 0; }
  const auto first = std::find_if(given_.begin(), given_.end(), [&request](const Given& one) {
    return one.request->claim + 1 == request.claim;
  });
  return first->place + 1;
}

std::size_t Search::mayHave(const Way& way, std::size_t from, std::size_t enough, bool with_rules) {
  std::size_t count = 0;
  for (std::size_t place = from; place < view_.size() && count < enough; ++place) {
    if (!steps_.spend()) { return 0; }
    if (!free(place)) { continue; }
    const Match match = view_.known(way.matcher, place);
    if (match == Match::Unknown || match == Match::Error) { return enough; }
    if (match == Match::Yes && !view_.tainted(way, place) && (!with_rules || met(way, place))) { ++count; }
  }
  return count;
}

bool Search::lookAhead() {
  if (looked_ahead_) { return true; }
  looked_ahead_ = true;
  bool calm = true;
  for (const Request& request : plan_.requests) {
    for (const Way& way : request.ways) {
      calm = calm && !(way.all && !way.rules.empty());
      for (std::size_t place = 0; place < view_.size(); ++place) {
        if (!view_.open(place) || way.all) { continue; }
        const Match match = view_.ask(way.matcher, place, steps_);
        if (match == Match::Unknown) { return false; }
        calm = calm && match != Match::Error;
      }
    }
  }
  calm_ = calm;
  return true;
}

bool Search::hopeful(std::size_t number) {
  const auto first = plan_.requests.begin() + static_cast<std::ptrdiff_t>(number);
  wanted_.assign(plan_.groups, 0);
  for (auto request = first; request != plan_.requests.end(); ++request) {
    if (request->group != kNoGroup) { wanted_[request->group] += request->ways.front().count; }
  }
  for (auto request = first; request != plan_.requests.end(); ++request) {
    if (request->group == kNoGroup) { continue; }
    const std::size_t wanted = std::exchange(wanted_[request->group], 0);  // once a group
    if (mayHave(request->ways.front(), 0, wanted, false) < wanted) { return false; }
  }
  return std::all_of(first, plan_.requests.end(), [this](const Request& one) { return hopefulOf(one); });
}

bool Search::hopefulOf(const Request& request) {
  return std::any_of(request.ways.begin(), request.ways.end(), [this](const Way& way) {
    if (!way.all) { return mayHave(way, 0, way.count) == way.count; }
    const auto& list = listOf(way);
    return !list.empty() && steps_.spend(list.size()) &&
           std::all_of(list.begin(), list.end(),
                       [this, &way](std::size_t place) { return free(place) && !view_.tainted(way, place); });
  });
}

}  // namespace gs::dra
