// The provisioner of volumes that there are none of: makes one for a claim that asks for it (annotation
// volume.kubernetes.io/storage-provisioner), and deletes it once it is Released. With a class that waits for
// a pod it acts when a scheduler has named a node (volume.kubernetes.io/selected-node), and the volume can be
// reached from that node's zone only; from the node only, where that is in no zone. Else from where the
// class's allowedTopologies say.
//
// What is to go wrong stands in the parameters of a class:
//   late: "30s"     so long does it take
//   fails: "2"      so many times it fails for each claim, and says so; "always"
//   zone: wrong     the volume is made in another zone
// A failure with a node takes the node off the claim, as a real one does that had no room there: the
// scheduler looks for another.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

/// What classes name it by, and the driver of its volumes.
inline constexpr const char* kProvisioner = "sandbox.gpu.scheduling";

class Provisioner {
 public:
  [[nodiscard]] Again syncClaim(Client& client, const json::Value& claim);
  [[nodiscard]] static Again syncVolume(Client& client, const json::Value& volume);
  void claimGone(const std::string& uid) { works_.erase(uid); }

 private:
  /// Of one claim, and forgotten once its volume is there.
  struct Work {
    std::string node;  // it was begun for; "": for none
    Mono begun{};
    int failures = 0;
  };
  [[nodiscard]] Again failed(Client& client, const json::Value& claim, Work& work);

  std::map<std::string, Work> works_;  // by the claim's uid
};

}  // namespace gs::sandbox::controllers
