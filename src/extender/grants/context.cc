#include "extender/grants/context.h"

#include <fmt/format.h>

#include "sched/doors/vcuda.h"

namespace gs::extender {

std::string nameOf(const model::Pod& pod) { return fmt::format("pod {}", pod.key.text()); }

void Context::answer(const Caller& w, Answer::Kind kind, std::string text) {
  Answer a;
  a.kind = kind;
  a.text = std::move(text);
  answer(w, std::move(a));
}

void Context::answer(const Caller& w, Answer a) {
  if (auto line = log.lineOf(w.request, a, now.mono)) { out.emplace_back(*std::move(line)); }
  replies.give(w.request_id, std::move(a), now.mono);
}

void Context::failAll(const std::vector<Caller>& waiting, const std::string& why) {
  for (const auto& w : waiting) { answer(w, Answer::Kind::Failed, why); }
}

bool Context::wants(const model::Pod& pod) const { return sched::wantsVcuda(pod, config.strict); }

std::string Context::ownSchedulersText(const model::Pod& pod) const {
  return fmt::format("{} is scheduled by {}", nameOf(pod), config.own_scheduler);
}

model::PodPtr Context::newest(const model::PodPtr& pod) const {
  const auto it = engine.cache().pods().find(pod->uid);
  if (it == engine.cache().pods().end()) { return pod; }
  const model::Pod& known = *it->second;
  const bool same = known.key == pod->key && known.scheduler_name == pod->scheduler_name &&
                    known.share_limits == pod->share_limits &&
                    known.init_share_limits == pod->init_share_limits;
  return known.revision >= pod->revision || !same ? it->second : pod;
}

}  // namespace gs::extender
