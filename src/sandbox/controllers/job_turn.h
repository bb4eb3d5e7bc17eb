// One turn of the Job controller about one job: counting, deciding, acting, and the status that says it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/controllers/indexes.h"
#include "sandbox/controllers/jobs.h"

namespace gs::sandbox::controllers {

class JobTurn {
 public:
  JobTurn(Client& client, const json::Value& job, Jobs::Record& record);
  [[nodiscard]] Again run();

 private:
  // counting (job_count.cc)
  void look();
  void begin();
  void count();
  void countOne(const json::Value& pod, bool success);
  [[nodiscard]] std::optional<std::int64_t> indexOf(const json::Value& pod) const;
  [[nodiscard]] std::int64_t succeededSoFar() const;

  // deciding (job_turn.cc)
  void decide();
  [[nodiscard]] bool isEnough() const;
  [[nodiscard]] std::optional<std::string> whyFailed();
  void fail(const std::string& reason);
  void complete();
  void suspend();
  void resume();
  void setCondition(const char* type, const char* is, const std::string& reason, const char* message);

  // acting (job_pods.cc)
  void keepPods();
  void keepIndexes(std::int64_t wanted);
  void create(std::int64_t how_many);
  bool createOne(std::optional<std::int64_t> index);
  /// `forgotten`: they did not fail.
  void removeActive(std::size_t how_many, bool forgotten);
  void removePod(const json::Value& pod, bool forgotten);
  [[nodiscard]] Duration backoff() const;

  void writeStatus();

  Client& client_;
  const json::Value& job_;
  const json::Value& spec_;
  Jobs::Record& kept_;  // follows record_ once the status is written
  Jobs::Record record_;
  const bool indexed_;
  std::vector<apiserver::ObjectPtr> pods_;
  json::Value status_;
  Indexes completed_;
  std::vector<std::pair<std::string, std::string>> events_;  // type and reason, told once the status says it
  Again again_;
};

}  // namespace gs::sandbox::controllers
