#include "operator/lost_nodes.h"

#include <fmt/format.h>

#include "kapi/write.h"
#include "kcache/kinds/names.h"
#include "operator/kinds.h"
#include "operator/metrics.h"

namespace gs::gkm {
namespace {

using kapi::CallResult;
using kcache::CacheNode;

constexpr int kMostCalls = 16;
constexpr kapi::RetryTerms kTerms{std::chrono::seconds{1}, std::chrono::minutes{1}};

/// Those that are no agent's.
std::vector<std::string> foreignFinalizers(const CacheNode& object) {
  std::vector<std::string> out = object.finalizers.names;
  std::erase_if(out, [](const std::string& name) { return !kcache::handleIn(name).empty(); });
  return out;
}

}  // namespace

LostNodes::LostNodes(controller::Parts& parts) : desk_{parts.add(*this), kMostCalls, kTerms} {}

// ---- what is known

void LostNodes::judge(const model::ObjectKey& key, const std::string& node) {
  if (there_.contains(node)) {
    suspects_.erase(key);
    desk_.forget(key);
    objects_.at(key).proven_at.reset();
    return;
  }
  suspects_.insert(key);
  if (is_leading_) { desk_.touch(key); }
}

void LostNodes::changed(const model::Ptr<CacheNode>& value) {
  const model::ObjectKey& key = value->key;
  Object& object = objects_[key];
  if (object.value != nullptr) {
    const bool is_older = object.value->uid == value->uid && value->revision < object.value->revision;
    if (is_older) { return; }
    if (object.value->node != value->node) {
      of_node_[object.value->node.text].erase(key);
      object.proven_at.reset();
    }
    if (object.value->uid != value->uid) { object.proven_at.reset(); }
  }
  object.value = value;
  of_node_[value->node.text].insert(key);
  judge(key, value->node.text);
}

void LostNodes::gone(const model::ObjectKey& key) {
  const auto object = objects_.extract(key);
  if (object.empty()) { return; }
  const auto node = of_node_.find(object.mapped().value->node.text);
  node->second.erase(key);
  if (node->second.empty()) { of_node_.erase(node); }
  suspects_.erase(key);
  desk_.forget(key);
}

void LostNodes::nodeSeen(const std::string& node) {
  if (!there_.insert(node).second) { return; }
  if (const auto it = of_node_.find(node); it != of_node_.end()) {
    for (const auto& key : it->second) { judge(key, node); }
  }
}

void LostNodes::nodeLost(const std::string& node) {
  there_.erase(node);
  if (const auto it = of_node_.find(node); it != of_node_.end()) {
    for (const auto& key : it->second) { judge(key, node); }
  }
}

// ---- what is done

void LostNodes::lead() {
  is_leading_ = true;
  for (const auto& key : suspects_) { desk_.touch(key); }
}

void LostNodes::reset() {
  is_leading_ = false;
  desk_.reset();
  for (auto& [key, object] : objects_) { object.proven_at.reset(); }
}

std::optional<Mono> LostNodes::nextDue() const { return is_leading_ ? desk_.nextDue() : std::nullopt; }

void LostNodes::go(Now now, kapi::Effects& out) {
  while (is_leading_) {
    const auto key = desk_.next(now.mono);
    if (!key) { return; }
    if (suspects_.contains(*key)) { look(*key, objects_.at(*key), now, out); }
  }
}

void LostNodes::send(const model::ObjectKey& key, Doing doing, kapi::Call call, kapi::Effects& out) {
  call.leader_only = doing != Doing::Prove;
  call.token = desk_.begin(key, doing);
  out.emplace_back(std::move(call));
}

void LostNodes::look(const model::ObjectKey& key, Object& object, Now now, kapi::Effects& out) {
  const CacheNode& value = *object.value;
  const auto kept = foreignFinalizers(value);
  const bool has_ours = kept.size() != value.finalizers.names.size();
  if (value.is_deleting && !has_ours) { return; }  // the rest is others' business
  if (!object.proven_at || now.mono - *object.proven_at > kProof) {
    return send(key, Doing::Prove, kapi::getObject(kNodePresence, {"", value.node.text}), out);
  }
  if (has_ours && !value.finalizers.are_cut) {
    return send(key, Doing::Release,
                kcache::writeFinalizers(kcache::nodeKindOf(key), key, value.uid, value.revision, kept), out);
  }
  if (!value.is_deleting) { send(key, Doing::Delete, kcache::deleteNode(value), out); }
}

void LostNodes::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto answer = desk_.answered(outcome.token);
  if (!answer) { return; }
  const auto it = objects_.find(answer->key);
  if (answer->stale || it == objects_.end()) { return; }
  if (answer->what == Doing::Prove) {
    proven(it->second, answer->key, outcome, now);
  } else {
    written(it->second, answer->key, answer->what, outcome, now, out);
  }
}

void LostNodes::proven(Object& object, const model::ObjectKey& key, const kapi::Outcome& outcome, Now now) {
  if (outcome.notFound()) {
    object.proven_at = now.mono;
    return;
  }
  object.proven_at.reset();
  desk_.failed(key, now.mono, outcome.retry_after);
}

void LostNodes::written(Object& object, const model::ObjectKey& key, Doing doing,
                        const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const bool is_applied = outcome.result == CallResult::Applied;
  out.emplace_back(countWrite(kWrites, doing == Doing::Release ? "release" : "deletion", is_applied));
  const std::vector<std::pair<std::string, std::string>> fields{
      {"kind", std::string{kcache::nodeKindOf(key)->name}},
      {"object", key.text()},
      {"node", object.value->node.text}};
  if (!is_applied) {
    object.proven_at.reset();
    desk_.failed(key, now.mono, outcome.retry_after);
    const bool is_behind = outcome.http == 409 || outcome.notFound();
    std::string trouble =
        is_behind ? "" : fmt::format("releasing what a lost node has: {} {}", outcome.http, outcome.message);
    if (!trouble.empty() && trouble != object.trouble) {
      out.emplace_back(kapi::Log{kapi::Level::Warn, trouble, fields});
    }
    object.trouble = std::move(trouble);
    return;
  }
  desk_.worked(key);
  out.emplace_back(kapi::Log{kapi::Level::Info,
                             doing == Doing::Release
                                 ? "the node has left the cluster: its finalizers are gone"
                                 : "the node has left the cluster: its object is deleted",
                             fields});
  const auto value = outcome.object.as<CacheNode>();
  if (doing == Doing::Release && value != nullptr && value->uid == object.value->uid) {
    return changed(value);
  }
  desk_.failed(key, now.mono, kProof);  // the watch says what became of it
}

}  // namespace gs::gkm
