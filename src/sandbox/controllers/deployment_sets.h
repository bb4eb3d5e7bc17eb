// The ReplicaSets of one Deployment during one turn: which is the newest, what revisions they are,
// how large they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

enum class Newest : bool { Find, FindOrMake };

/// `deployment` must outlive it, and may be changed: its status and annotations follow what is done.
class DeploymentSets {
 public:
  /// Claims them. Sets of which the template is the Deployment's own are the newest; with FindOrMake there is
  /// one then, unless it was refused.
  DeploymentSets(Client& client, json::Value& deployment, Newest newest);

  [[nodiscard]] const std::optional<json::Value>& newest() const { return newest_; }
  /// The others, oldest first.
  [[nodiscard]] const std::vector<json::Value>& old() const { return old_; }
  [[nodiscard]] std::vector<json::Value> all() const;
  /// What a write that was refused asks for.
  [[nodiscard]] const Again& again() const { return again_; }

  /// True: it had another size. The newest, or one of old().
  bool scaleNewest(std::int64_t replicas);
  bool scaleOld(std::size_t index, std::int64_t replicas);
  /// Deletes those of old() that are empty, beyond spec.revisionHistoryLimit.
  void cleanUp();

 private:
  void claimSets();
  void adjustNewest();
  void makeNewest();
  void settleClash(const std::string& name);
  bool scale(json::Value& set, std::int64_t replicas);
  void noteRevision(const std::string& revision, const char* reason, const std::string& message);
  [[nodiscard]] std::int64_t maxOldRevision() const;

  Client& client_;
  json::Value& deployment_;
  std::optional<json::Value> newest_;
  std::vector<json::Value> old_;
  Again again_;
};

}  // namespace gs::sandbox::controllers
