// CsiDriver: sees to it that the cluster knows the CSI driver csi.gkm.io, as it is: volumes in pods' specs
// and PersistentVolumes, nothing to attach, told which pod mounts, and no change of ownership of files.
//
// Read at the start of a term and every kLook after that, so that one that was deleted comes back. What may
// be changed is changed. One of an older version, for volumes in pods' specs alone, is deleted and made anew
// at once: in between kubelets find nothing to mount by, and try again. Who dies in between leaves none, and
// the next leader makes it.
// The rest of a CSIDriver is as somebody made it, and is said to be wrong.
// One thread; time is an argument.
#pragma once

#include <optional>
#include <string>

#include "controller/keyed_calls.h"
#include "controller/parts.h"
#include "kapi/call.h"

namespace gs::gkm {

class CsiDriver final : public controller::Part {
 public:
  static constexpr Duration kLook = std::chrono::minutes{1};

  explicit CsiDriver(controller::Parts& parts) : calls_{parts.add(*this)} {}

  void lead(Now now);
  void reset() override;
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void go(Now now, kapi::Effects& out);
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  [[nodiscard]] bool underWay() const { return calls_.underWay() > 0; }
  /// Why it is not as it should be; "" it is, or nobody has looked yet.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  enum class Doing : std::uint8_t { Read, Create, Patch, Delete };
  static constexpr int kOnly = 0;
  struct Step {
    Doing doing{};
    kapi::Call call{};
  };
  void send(Step step, kapi::Effects& out);
  void read(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void say(std::string trouble, kapi::Effects& out);

  controller::KeyedCalls<int, Doing> calls_;
  std::string trouble_;
  std::optional<Step> to_write_;  // go() sends it, for the answer may come when nothing may be written
  Mono next_look_{};
  bool is_leading_ = false;
};

}  // namespace gs::gkm
