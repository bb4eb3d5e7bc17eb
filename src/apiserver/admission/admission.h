// Admission: what may change or refuse a write between its decoding and its storing,
// as the plugins of kube-apiserver.
//
// Order, as there: the write is decoded, with defaults; each plugin mutates, in the order in which they were
// added; the object is completed (name, uid, what a write may not change) and validated; each plugin
// validates; it is stored. A deletion has no object: both passes see the old one, after its preconditions.
// The first refusal ends it, and nothing was written.
// Asked about all that reaches the store by a request: create, update, patch and apply (Create or Update),
// delete and each of a deleted collection, and the Binding or Eviction that is posted to a pod (Create of its
// subresource; what an eviction then deletes is not asked about again). Nothing that is served connects
// (exec, attach) yet.
//
// A plugin may answer later: a webhook is a call to another process, and this one must go on meanwhile. It
// returns nothing, and the request is put aside with its ticket. Once the answer is there (Api::answered),
// the request begins again from its body, on what is stored by then, and the answers that it got so far count
// as long as what they were about is the same; else the plugin is asked anew, as a real server does when an
// object changed in between. So a handler holds nothing while it waits, and writes nothing before the last
// answer. A request of somebody who cannot wait (Api::handle) has ticket 0: a plugin that would answer later
// has to say at once what its failure policy says.
// A plugin that asks several others, each about what the one before made of the object, says so by `next`: it
// is asked again at once, about the object as it is then, and finds there what it said.
//
// Plugins and what they are shown belong to the caller. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/meta/answer.h"
#include "apiserver/registry/resources.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

enum class Operation : std::uint8_t { Create, Update, Delete };

/// Of a request that waits; 0: it cannot.
using RequestId = std::uint64_t;

/// What AdmissionReview's request says, but for the object. Good while the plugin is asked.
struct AdmissionRequest {
  Operation operation{};
  const Resource& resource;      // of the URL
  std::string_view subresource;  // "" : none
  std::string_view ns;           // of a Namespace: its name
  std::string_view name;         // "" : the server will make one
  const json::Value& old;        // null: Create
  bool dry_run = false;
  std::string_view user;  // as the client says; "" : unknown
  Now now;
  RequestId request_id = 0;
  json::Value next{};  // what this plugin last said in `next`; null: it is asked for the first time
};

struct AdmissionResponse {
  std::optional<ApiError> refused{};
  /// Of mutate(): the object from now on. It is decoded as a body is: with defaults, and without fields that
  /// its kind does not have.
  std::optional<json::Value> object{};
  json::Value next{};  // of mutate(): not null: ask again, and show me this
  /// For whoever asked, bounded with all others (apiserver/meta/warnings.h).
  std::vector<std::string> warnings{};
};

class AdmissionPlugin {
 public:
  virtual ~AdmissionPlugin() = default;
  /// `object` is null for Delete. May change it in place, to what decoding would have given;
  /// not when it answers later.
  /// Nothing: it answers later.
  [[nodiscard]] virtual std::optional<AdmissionResponse> mutate(const AdmissionRequest& request,
                                                                json::Value& object);
  [[nodiscard]] virtual std::optional<AdmissionResponse> validate(const AdmissionRequest& request,
                                                                  const json::Value& object);
};

/// The answers that one request got late, and the question that it waits for.
class AdmissionNotes {
 public:
  explicit AdmissionNotes(RequestId request_id = 0) : request_id_{request_id} {}
  [[nodiscard]] RequestId requestId() const { return request_id_; }
  [[nodiscard]] bool waits() const { return !notes_.empty() && !notes_.back().response; }
  /// To the question that it waits for.
  void answer(AdmissionResponse response);

 private:
  friend class Admission;
  enum class Pass : std::uint8_t { Mutating, Validating };
  struct Note {
    Pass pass{};
    std::size_t plugin = 0;
    json::Value object;
    json::Value old;
    json::Value next;
    std::optional<AdmissionResponse> response{};
  };
  [[nodiscard]] const AdmissionResponse* find(Pass pass, std::size_t plugin, const AdmissionRequest& request,
                                              const json::Value& object) const;

  RequestId request_id_;
  std::vector<Note> notes_;  // only the last may lack its response
};

class Admission {
 public:
  /// After those that were added before.
  void add(std::unique_ptr<AdmissionPlugin> plugin) { plugins_.push_back(std::move(plugin)); }

  /// An object that a plugin gave whole, decoded. Error: what is wrong with it.
  using Decode = std::function<Answer<json::Value>(json::Value)>;
  /// Error: refused, or (notes.waits()) not answered yet.
  [[nodiscard]] Done mutate(AdmissionNotes& notes, const AdmissionRequest& request, json::Value& object,
                            const Decode& decode, std::vector<std::string>& warnings) const;
  [[nodiscard]] Done validate(AdmissionNotes& notes, const AdmissionRequest& request,
                              const json::Value& object, std::vector<std::string>& warnings) const;

 private:
  using Pass = AdmissionNotes::Pass;
  template <class Ask>
  [[nodiscard]] Answer<AdmissionResponse> ask(AdmissionNotes& notes, Pass pass, std::size_t plugin,
                                              const AdmissionRequest& request, const json::Value& object,
                                              Ask ask) const;
  [[nodiscard]] Done mutateBy(std::size_t plugin, AdmissionNotes& notes, AdmissionRequest request,
                              json::Value& object, const Decode& decode,
                              std::vector<std::string>& warnings) const;

  std::vector<std::unique_ptr<AdmissionPlugin>> plugins_;
};

}  // namespace gs::apiserver
