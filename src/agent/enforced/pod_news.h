// PodNews: Warning events on pods and on this agent's Node, each sentence about one of them once an hour
// however often it is said. Bounded: sentences of one object, and objects.
// One thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "controller/event.h"
#include "controller/event_sender.h"
#include "controller/parts.h"
#include "model/ids.h"

namespace gs::agent {

class PodNews {
 public:
  static constexpr std::size_t kMostOfOne = 16;  // sentences of one object
  static constexpr std::size_t kMostObjects = 1024;
  static constexpr Duration kAgain = std::chrono::hours{1};  // as long as the API server keeps events

  PodNews(const model::NodeName& node, controller::Parts& parts);

  /// `reason` in one word, `note` a sentence.
  void warnPod(const model::ObjectKey& pod, const model::Uid& uid, const std::string& reason,
               const std::string& note, Now now, kapi::Effects& out);
  /// `uid` "": it is not known yet, and nothing is said.
  void warnNode(const model::Uid& uid, const std::string& reason, const std::string& note, Now now,
                kapi::Effects& out);
  void gone(const model::Uid& uid) { said_.erase(uid); }

  void tick(Now now, kapi::Effects& out) { events_.tick(now, out); }
  [[nodiscard]] std::optional<Mono> nextDue() const { return events_.nextDue(); }
  [[nodiscard]] std::size_t size() const { return said_.size(); }

 private:
  /// False: it was said lately, or there is no room to remember it.
  bool isNews(const model::Uid& uid, const std::string& reason, const std::string& note, Mono now);
  void forgetOld(Mono now);

  const model::NodeName node_;
  controller::EventRecorder recorder_;
  controller::EventSender events_;
  std::map<model::Uid, std::map<std::pair<std::string, std::string>, Mono>> said_;  // when last
};

}  // namespace gs::agent
