#include "extender/protocol/front_desk.h"

#include <algorithm>
#include <utility>

namespace gs::extender {
namespace {

Answer unavailableAnswer(std::string why) {
  Answer a;
  a.kind = Answer::Kind::Unavailable;
  a.text = std::move(why);
  return a;
}

}  // namespace

std::optional<Answer> otherTableAnswer(const Caller& w, const NodeTablePtr& table) {
  if (w.request.candidates.table == table) { return std::nullopt; }
  Answer a;
  a.kind = Answer::Kind::NewTable;
  a.table = table;
  return a;
}

void FrontDesk::ask(Answerer& answerer, RequestId request_id, Request request, Now now) const {
  const Mono asked = request.asked == Mono{} ? now.mono : std::min(request.asked, now.mono);
  Caller w{request_id, std::move(request), asked + answer_within_};
  if (auto refusal = refusalOf(answerer, w, now)) { return answerer.refuse(w, *std::move(refusal)); }
  answerer.serve(std::move(w), now);
}

std::optional<Answer> FrontDesk::refusalOf(Answerer& answerer, const Caller& w, Now now) {
  if (std::string why = answerer.refusesBecause(); !why.empty()) { return unavailableAnswer(std::move(why)); }
  if (now.mono >= w.until) { return unavailableAnswer("this was asked too long ago"); }
  if (!answerer.readsNodes(w.request.verb)) { return std::nullopt; }
  return otherTableAnswer(w, answerer.table());
}

}  // namespace gs::extender
