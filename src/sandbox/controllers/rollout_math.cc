#include "sandbox/controllers/rollout_math.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "apiserver/meta/label_selector.h"
#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::amountOf;
using apiserver::Round;
using json::Value;

/// What the set had at most when it was last scaled: by it, its part is reckoned.
std::int64_t mostOf(const Value& set, const Value& deployment) {
  const auto text = annotation(set, kMost);
  std::int64_t most = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most);
  (void)end;
  return error == std::errc{} ? most : deployment["status"]["replicas"].intOr(0);
}

/// How many it would gain (or lose) to keep its part.
std::int64_t shareOf(const Value& deployment, const Value& set) {
  const std::int64_t has = wantedReplicas(set);
  const std::int64_t wanted = wantedReplicas(deployment);
  const std::int64_t most = mostOf(set, deployment);
  if (wanted == 0 || most == 0) { return -has; }
  const double part = static_cast<double>(has * (wanted + maxSurge(deployment))) / static_cast<double>(most);
  return static_cast<std::int64_t>(std::llround(part)) - has;
}

}  // namespace

bool isRolling(const json::Value& deployment) {
  return deployment["spec"]["strategy"]["type"].str() == "RollingUpdate";
}

std::int64_t maxSurge(const json::Value& deployment) {
  if (!isRolling(deployment)) { return 0; }
  const Value& surge = deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"];
  return amountOf(surge, wantedReplicas(deployment), Round::Up);
}

std::int64_t maxUnavailable(const json::Value& deployment) {
  const std::int64_t wanted = wantedReplicas(deployment);
  if (!isRolling(deployment) || wanted == 0) { return 0; }
  const Value& most = deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"];
  std::int64_t out = amountOf(most, wanted, Round::Down);
  if (out == 0 && maxSurge(deployment) == 0) { out = 1; }  // else nothing could ever move
  return std::min(out, wanted);
}

std::int64_t totalWanted(const std::vector<json::Value>& sets) {
  std::int64_t out = 0;
  for (const Value& set : sets) { out += wantedReplicas(set); }
  return out;
}

std::int64_t totalOf(const std::vector<json::Value>& sets, const char* status_field) {
  std::int64_t out = 0;
  for (const Value& set : sets) { out += set["status"][status_field].intOr(0); }
  return out;
}

std::int64_t newestMayHave(const json::Value& deployment, const std::vector<json::Value>& all,
                           std::int64_t newest_has) {
  const std::int64_t wanted = wantedReplicas(deployment);
  if (!isRolling(deployment)) { return wanted; }
  const std::int64_t room = wanted + maxSurge(deployment) - totalWanted(all);
  if (room <= 0) { return newest_has; }
  return newest_has + std::min(room, wanted - newest_has);
}

std::vector<std::int64_t> inProportion(const json::Value& deployment, const std::vector<json::Value>& sets) {
  const std::int64_t wanted = wantedReplicas(deployment);
  const std::int64_t allowed = wanted == 0 ? 0 : wanted + maxSurge(deployment);
  const std::int64_t to_add = allowed - totalWanted(sets);
  std::int64_t added = 0;
  std::vector<std::int64_t> out;
  for (const Value& set : sets) {
    const std::int64_t has = wantedReplicas(set);
    std::int64_t share = has == 0 || to_add == added ? 0 : shareOf(deployment, set);
    share = to_add >= 0 ? std::min(share, to_add - added) : std::max(share, to_add - added);
    if (to_add == 0) { share = 0; }
    out.push_back(has + share);
    added += share;
  }
  if (!out.empty()) { out.front() = std::max<std::int64_t>(0, out.front() + to_add - added); }
  return out;
}

}  // namespace gs::sandbox::controllers
