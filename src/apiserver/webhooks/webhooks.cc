#include "apiserver/webhooks/webhooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

AdmissionResponse refusedBy(ApiError why) {
  AdmissionResponse out;
  out.refused = std::move(why);
  return out;
}

/// What becomes of the request when this webhook failed.
AdmissionResponse failed(const Hook& hook, std::string_view why) {
  if (hook.failsOpen()) { return {}; }
  return refusedBy(
      refuse(500, "InternalError",
             fmt::format("Internal error occurred: failed calling webhook {}: {}", goQuote(hook.name()), why))
          .value());
}

Value idText(const HookId& id) { return json::Array{Value{id.configuration}, Value{id.index}}; }
HookId idFrom(const Value& text) {
  return {std::string{text.at(0).str()}, static_cast<std::size_t>(text.at(1).intOr(0))};
}
Value idsText(const std::set<HookId>& ids) {
  json::Array out;
  std::transform(ids.begin(), ids.end(), std::back_inserter(out), idText);
  return out;
}
std::set<HookId> idsFrom(const Value& texts) {
  std::set<HookId> out;
  for (const Value& text : texts.items()) { out.insert(idFrom(text)); }
  return out;
}

/// With what a real server adds to it.
std::string calledUrl(const HookAddress& address, Duration timeout) {
  return fmt::format("{}?timeout={}s", address.url,
                     std::chrono::duration_cast<std::chrono::seconds>(timeout).count());
}

/// In messages a Service is called by its name, as a real server does it.
std::string shownUrl(const HookAddress& address, std::string_view url) {
  if (address.server_name.empty()) { return std::string{url}; }
  const auto host = url.find("://") + 3;
  const auto path = std::min(url.find('/', host), url.find('?', host));
  const auto port = url.substr(0, path).rfind(':');
  return fmt::format("https://{}{}", address.server_name, url.substr(port));
}

}  // namespace

// ---- how far a request is

Webhooks::Progress Webhooks::Progress::from(const json::Value& next) {
  Progress out;
  out.round = static_cast<int>(next["round"].intOr(0));
  if (!next["last"].isNull()) { out.last = idFrom(next["last"]); }
  out.earlier = idsFrom(next["earlier"]);
  out.again = idsFrom(next["again"]);
  return out;
}

json::Value Webhooks::Progress::text() const {
  return Object{{"round", round},
                {"last", last ? idText(*last) : Value{}},
                {"earlier", idsText(earlier)},
                {"again", idsText(again)}};
}

/// Who was asked before a change is asked again, but not who made it.
void Webhooks::Progress::asked(const Hook& hook, bool changed) {
  if (changed) { again.merge(std::exchange(earlier, {})); }
  if (hook.isReinvoked()) { earlier.insert(hook.id); }
}

Answer<std::optional<Hook>> Webhooks::nextHook(Progress& progress, const AdmissionRequest& request,
                                               const json::Value& object) const {
  const auto hooks = registeredHooks(store_, HookPass::Mutating);
  for (;;) {
    for (const Hook& hook : hooks) {
      if (progress.last && hook.id <= *progress.last) { continue; }
      if (progress.round > 0 && !progress.again.contains(hook.id)) { continue; }
      progress.last = hook.id;
      const auto asked = isAsked(hook, request, object, store_);
      if (!asked) { return tl::unexpected(asked.error()); }
      if (*asked) { return hook; }
    }
    if (progress.round > 0 || progress.again.empty()) { return std::nullopt; }
    progress.round = 1;
    progress.last.reset();
  }
}

// ---- asking

std::optional<AdmissionResponse> Webhooks::send(HookPass pass, const Hook& hook,
                                                const AdmissionRequest& request, const json::Value& object) {
  if (request.dry_run && !hook.isWithoutEffects()) {
    return refusedBy(
        badRequest(fmt::format("admission webhook {} does not support dry run", goQuote(hook.name())))
            .value());
  }
  const std::string version = reviewVersion(hook);
  if (version.empty()) {
    return failed(
        hook,
        "could not create admission objects: webhook does not accept known AdmissionReview versions "
        "(v1, v1beta1)");
  }
  auto address = addressOf(hook, store_);
  if (!address) { return failed(hook, fmt::format("failed to call webhook: {}", address.error())); }
  if (request.request_id == 0) {
    return failed(hook,
                  "failed to call webhook: the sandbox's own controllers and nodes do not wait for webhooks");
  }
  HookCall call;
  call.id = next_call_++;
  call.hook = fmt::format("{}/{}", hook.id.configuration, hook.name());
  call.timeout = hook.timeout();
  Asked asked{rng_.uuid(), version, "", pass};
  call.body = json::print(reviewOf(request, object, version, asked.uid));
  address->url = calledUrl(*address, call.timeout);
  asked.url = shownUrl(*address, address->url);
  call.address = *std::move(address);
  Question& question = questions_[request.request_id];
  calls_[call.id] = {request.request_id, question.parts.size()};
  question.parts.push_back({hook, std::move(asked)});
  if (send_(std::move(call))) { return std::nullopt; }
  return refusedBy(refuse(429, "TooManyRequests",
                          fmt::format("too many requests wait for webhook {}, please try again later",
                                      goQuote(hook.name())))
                       .value());
}

std::optional<AdmissionResponse> Webhooks::mutate(const AdmissionRequest& request, json::Value& object) {
  Progress progress = Progress::from(request.next);
  for (;;) {
    const auto hook = nextHook(progress, request, object);
    if (!hook) { return refusedBy(hook.error()); }
    if (!*hook) { return AdmissionResponse{}; }
    auto unsent = send(HookPass::Mutating, **hook, request, object);
    if (!unsent) {
      Question& question = questions_[request.request_id];
      question.object = object;
      question.progress = std::move(progress);
      return std::nullopt;
    }
    if (unsent->refused) {
      giveUp(request.request_id);
      return unsent;
    }
    progress.asked(**hook, false);
  }
}

std::optional<AdmissionResponse> Webhooks::validate(const AdmissionRequest& request,
                                                    const json::Value& object) {
  bool waits = false;
  for (const Hook& hook : registeredHooks(store_, HookPass::Validating)) {
    const auto asked = isAsked(hook, request, object, store_);
    if (!asked || *asked) {
      auto unsent = asked ? send(HookPass::Validating, hook, request, object) : refusedBy(asked.error());
      if (unsent && unsent->refused) {
        giveUp(request.request_id);
        return unsent;
      }
      waits = waits || !unsent;
    }
  }
  return waits ? std::nullopt : std::optional{AdmissionResponse{}};
}

// ---- answers

std::optional<Webhooks::Answered> Webhooks::answered(CallId id, const HookAnswer& answer) {
  const auto call = calls_.find(id);
  if (call == calls_.end()) { return std::nullopt; }
  const auto [request_id, index] = call->second;
  calls_.erase(call);
  const auto at = questions_.find(request_id);
  Part& part = at->second.parts[index];
  part.said = readAnswer(part.hook, part.asked, answer, at->second.object);
  const auto& parts = at->second.parts;
  if (!std::all_of(parts.begin(), parts.end(), [](const Part& p) { return p.said.has_value(); })) {
    return std::nullopt;
  }
  Question question = std::move(at->second);
  questions_.erase(at);
  const bool mutating = question.parts.front().asked.pass == HookPass::Mutating;
  return Answered{request_id, mutating ? mutated(question) : validated(question)};
}

AdmissionResponse Webhooks::mutated(Question& question) {
  Part& part = question.parts.front();
  AdmissionResponse out;
  bool changed = false;
  if (const auto* failure = std::get_if<HookFailure>(&*part.said)) {
    out = failed(part.hook, failure->why);
  } else {
    auto& verdict = std::get<HookVerdict>(*part.said);
    changed = verdict.object && *verdict.object != question.object;
    out.refused = std::move(verdict.refused);
    out.object = std::move(verdict.object);
    out.warnings = std::move(verdict.warnings);
  }
  question.progress.asked(part.hook, changed);
  out.next = question.progress.text();
  return out;
}

AdmissionResponse Webhooks::validated(Question& question) {
  AdmissionResponse out;
  for (Part& part : question.parts) {
    const auto* failure = std::get_if<HookFailure>(&*part.said);
    if (failure != nullptr) {
      auto here = failed(part.hook, failure->why);
      if (!out.refused) { out.refused = std::move(here.refused); }
      continue;
    }
    auto& verdict = std::get<HookVerdict>(*part.said);
    std::move(verdict.warnings.begin(), verdict.warnings.end(), std::back_inserter(out.warnings));
    if (!out.refused) { out.refused = std::move(verdict.refused); }
  }
  return out;
}

void Webhooks::giveUp(RequestId request_id) {
  questions_.erase(request_id);
  std::erase_if(calls_, [&](const auto& call) { return call.second.first == request_id; });
}

}  // namespace gs::apiserver
