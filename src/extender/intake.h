// The questions of an extender up to its orderly stop: then new ones are refused, and those that it has taken are waited for.
// The extender must outlive it, and is asked by it only. One thread.
#pragma once

#include <iterator>
#include <utility>
#include <vector>

#include "extender/extender.h"

namespace gs::extender {

class Intake {
 public:
  explicit Intake(Extender& extender) : extender_{extender} {}

  void ask(Ticket ticket, Question question, Now now) {
    if (stopped_) {
      refuse(ticket);
      return;
    }
    ++open_;
    extender_.ask(ticket, std::move(question), now);
  }
  [[nodiscard]] std::vector<std::pair<Ticket, Answer>> takeAnswers() {
    auto answers = extender_.takeAnswers();
    open_ -= answers.size();  // each question has one
    std::move(refused_.begin(), refused_.end(), std::back_inserter(answers));
    refused_.clear();
    return answers;
  }

  void stop() { stopped_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Somebody waits for an answer, or something that was decided is not written yet.
  [[nodiscard]] bool underWay() const { return open_ > 0 || extender_.grants().writing > 0; }
  /// Whoever still waits is refused.
  void giveUp() {
    stop();
    extender_.standBy(kWhy);
  }

 private:
  static constexpr const char* kWhy = "this replica is stopping";
  void refuse(Ticket ticket) {
    Answer no;
    no.kind = Answer::Kind::Unavailable;
    no.text = kWhy;
    refused_.emplace_back(ticket, std::move(no));
  }

  Extender& extender_;
  bool stopped_ = false;
  std::size_t open_ = 0;  // questions that were not answered
  std::vector<std::pair<Ticket, Answer>> refused_;
};

}  // namespace gs::extender
