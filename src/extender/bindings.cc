#include "extender/bindings.h"

#include <fmt/format.h>

#include <algorithm>

#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;
using Purpose = PodCalls::Purpose;

constexpr const char* kNotConfirmed = "its Binding was not confirmed; ask again";
constexpr const char* kBindsAlready = "a Binding of this pod is under way";

/// A Binding that came to nothing, perhaps for its node: not for the pod's version, nor since it is gone, nor
/// since the API server is busy.
bool isOfTheNode(const kapi::Outcome& outcome) {
  return outcome.result != kapi::CallResult::Applied && outcome.result != kapi::CallResult::NotSent &&
         outcome.http != 404 && outcome.http != 409 && outcome.http != 429;
}

}  // namespace

void Bindings::bind(Caller w) {
  const model::Uid uid = w.request.pod->uid;
  const model::NodeName node = w.request.node;
  const model::Pod* pod = c_.engine.cache().pod(uid);
  if (callers_.underWay(uid)) { return c_.answer(w, Kind::Failed, kBindsAlready); }
  if (pod == nullptr) { return readFirst(std::move(w)); }
  if (c_.isOwnSchedulers(*pod)) { return c_.answer(w, Kind::Failed, c_.ownSchedulersText(*pod)); }
  if (c_.config.is_bound_by_others && c_.config.is_bound_by_others(*pod)) {
    handed_back_.push_back(std::move(w));
    return;
  }
  if (pod->bound()) {
    const bool there = pod->node == node;
    return c_.answer(w, there ? Kind::Done : Kind::Failed,
                     there ? "" : fmt::format("{} is bound to {}", nameOf(*pod), pod->node.text));
  }
  const Grant* grant = grants_.find(uid);
  const bool has_it =
      grant != nullptr && grant->write.isWritten() && !grant->adopted && grant->note.node == node;
  if (c_.wants(*pod) && !has_it) {
    w.request.pod = std::make_shared<const model::Pod>(*pod);
    return coordinator_.place(std::move(w));  // comes back once it has
  }
  send(std::move(w), *pod);
}

void Bindings::readFirst(Caller w) {
  const model::Uid uid = w.request.pod->uid;
  if (c_.now.mono >= w.until) { return c_.answer(w, Kind::Failed, kNotConfirmed); }
  if (callers_.underWay(uid)) { return c_.answer(w, Kind::Failed, kBindsAlready); }
  calls_.send(kapi::getObject(kapi::kPod, w.request.pod->key), Purpose::ReadForBind, uid, c_.out);
  callers_.await(uid, std::move(w));
}

void Bindings::send(Caller w, const model::Pod& pod) {
  Grant* grant = grants_.find(pod.uid);
  const auto annotations = grant != nullptr ? model::printVcudaNote(grant->note) : model::Annotations{};
  const kapi::Token token =
      calls_.send(kapi::bindPod(pod, w.request.node, annotations), Purpose::Bind, pod.uid, c_.out);
  if (grant != nullptr) { grant->write.sent(token); }
  callers_.await(pod.uid, std::move(w));
}

std::string Bindings::whyNotBound(const PodCalls::Answered& call, const kapi::Outcome& outcome) {
  if (call.purpose == Purpose::Bind) {
    return fmt::format("its Binding was not confirmed: {} {}", outcome.http, outcome.message);
  }
  const auto pod = outcome.object.as<model::Pod>();
  if (pod != nullptr && pod->uid != call.uid) {
    return fmt::format("it is gone; the pod of that name has the uid {} and not {}", pod->uid.text,
                       call.uid.text);
  }
  const bool came_too_late = outcome.result == kapi::CallResult::Applied && pod != nullptr;
  if (came_too_late) { return kNotConfirmed; }
  if (outcome.http >= 200 && outcome.http < 300) {
    return fmt::format(
        "it cannot be read: the API server answered {} with a body that is no pod: {}; ask again",
        outcome.http, outcome.message.empty() ? "it holds none" : outcome.message);
  }
  return fmt::format("it cannot be read: {} {}", outcome.http, outcome.message);
}

void Bindings::answered(const PodCalls::Answered& call, const kapi::Outcome& outcome) {
  if (Grant* grant = grants_.find(call.uid)) { (void)grant->write.answered(outcome.token); }
  auto w = callers_.take(call.uid);
  if (!w) { return; }
  const bool done = outcome.result == kapi::CallResult::Applied;
  const bool is_there = c_.engine.cache().pod(call.uid) != nullptr;  // else nobody would have it forgotten
  if (call.purpose == Purpose::Bind && is_there && isOfTheNode(outcome)) {
    chooser_.triedInVain(call.uid, w->request.node, true, c_.now.mono);
  }
  if (done) { c_.engine.learn(outcome.object, c_.now.mono); }
  const bool waits = c_.now.mono < w->until;  // else its caller may have asked for another node since
  const bool read =
      done && waits && call.purpose == Purpose::ReadForBind && c_.engine.cache().pod(call.uid) != nullptr;
  // The pod is bound already and the watch has not said so, or another version of it: what there is decides.
  const bool conflict = waits && call.purpose == Purpose::Bind && outcome.http == 409;
  if (read) {
    bind(*std::move(w));
  } else if (conflict) {
    const Mono at = std::min(w->until, c_.now.mono + kapi::retryWait(++w->conflicts, {}));
    callers_.tryLater(at, *std::move(w));
  } else if (done && call.purpose == Purpose::Bind) {
    c_.answer(*w, Kind::Done);
  } else {
    c_.answer(*w, Kind::Failed,
              fmt::format("pod {}: {}", w->request.pod->key.text(), whyNotBound(call, outcome)));
  }
}

void Bindings::tick() {
  while (auto w = callers_.takeDue(c_.now.mono)) { readFirst(*std::move(w)); }
}

}  // namespace gs::extender
