// An API server that is the test: objects by kind and key, with finalizers, merge patches, status,
// preconditions, one label as selector, and watches that bring what came after their revision: of who
// lost that label that it is gone.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kapi/decode.h"
#include "kcache/kinds/kinds.h"

namespace gs::gkm {

inline const std::string kDigestA = "sha256:" + std::string(64, 'a');
inline const std::string kDigestB = "sha256:" + std::string(64, 'b');

class Server {
 public:
  using Key = std::pair<std::string, model::ObjectKey>;  // plural and key
  std::map<Key, json::Value> objects;
  std::set<std::string> held;  // plurals of the kinds of which no watch brings anything now

  kapi::Outcome carryOut(const kapi::Call& call) {
    switch (call.verb) {
      case kapi::Verb::List: return list(call);
      case kapi::Verb::Get: return get(call);
      case kapi::Verb::Create: return create(call);
      case kapi::Verb::MergePatch: return patch(call);
      case kapi::Verb::Update: return update(call);
      case kapi::Verb::Delete: return erase(call);
      default: ADD_FAILURE() << "a verb that nobody uses"; return {};
    }
  }
  json::Value& put(kapi::Kind kind, json::Value object) {
    const model::ObjectKey key = kapi::objectKey(object);
    const Key at{std::string{kind->plural}, key};
    const bool is_new = !objects.contains(at);
    if (object["metadata"]["uid"].str().empty()) {
      object.child("metadata").set("uid", "u" + std::to_string(++revision_));
    }
    object.child("metadata").set("resourceVersion", std::to_string(++revision_));
    const json::Value before = is_new ? json::Value{} : objects[at];
    objects[at] = retold(object);
    tell(at, is_new ? kapi::WatchType::Added : kapi::WatchType::Modified, objects[at], before);
    return objects[at];
  }
  void remove(kapi::Kind kind, const model::ObjectKey& key) { vanish({std::string{kind->plural}, key}); }
  /// As kubectl delete: it goes when no finalizer is there.
  void deleteSoftly(kapi::Kind kind, const model::ObjectKey& key) {
    const Key at{std::string{kind->plural}, key};
    json::Value& object = objects.at(at);
    if (object["metadata"]["finalizers"].items().empty()) { return vanish(at); }
    object.child("metadata").set("deletionTimestamp", "2025-06-15T15:06:40Z");
    touch(at);
  }
  void touch(const Key& at) {
    objects.at(at).child("metadata").set("resourceVersion", std::to_string(++revision_));
    objects.at(at) = retold(objects.at(at));
    tell(at, kapi::WatchType::Modified);
  }

  // ---- watches

  void open(const kapi::OpenWatch& watch, int client = 0) {
    constexpr std::string_view kFrom = "resourceVersion=";
    const std::string from = watch.query.substr(watch.query.find(kFrom) + kFrom.size());
    streams_[{client, watch.stream}] = {watch.kind, std::stoull(from), labelIn(watch.query)};
  }
  void close(kapi::Token stream, int client = 0) { streams_.erase({client, stream}); }
  void closeAll(int client = 0) {
    std::erase_if(streams_, [client](const auto& one) { return one.first.first == client; });
  }
  [[nodiscard]] std::vector<kapi::Token> streamsOf(kapi::Kind kind, int client = 0) const {
    std::vector<kapi::Token> out;
    for (const auto& [key, stream] : streams_) {
      if (stream.kind == kind && key.first == client) { out.push_back(key.second); }
    }
    return out;
  }
  /// What the watches bring now.
  std::vector<kapi::WatchEvent> takeNews(int client = 0) {
    std::vector<kapi::WatchEvent> out;
    for (auto& [who, stream] : streams_) {
      if (who.first != client || held.contains(std::string{stream.kind->plural})) { continue; }
      const auto& all = history_[std::string{stream.kind->plural}];
      for (auto at = all.upper_bound(stream.from); at != all.end(); ++at) {
        const auto& [type, key, object, before] = at->second;
        stream.from = at->first;
        const bool is_shown = hasLabel(object, stream.label);
        const bool was_shown = before.isNull() ? is_shown : hasLabel(before, stream.label);
        if (!is_shown && !was_shown) { continue; }
        const auto how = !is_shown ? kapi::WatchType::Deleted : !was_shown ? kapi::WatchType::Added : type;
        out.push_back({who.second, how, kapi::decodeObject(stream.kind, object), key, at->first});
      }
    }
    return out;
  }
  /// Types, reasons and notes of the events.
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const auto& [key, object] : objects) {
      if (key.first != "events") { continue; }
      out.push_back(
          fmt::format("{} {}: {}", object["type"].str(), object["reason"].str(), object["note"].str()));
    }
    return out;
  }

 private:
  struct Stream {
    kapi::Kind kind{};
    model::Revision from = 0;
    std::string label;  // "key=value"; "": all
  };
  struct Event {
    kapi::WatchType type{};
    model::ObjectKey key;
    json::Value object;
    json::Value before{};  // null: nobody took a label off or put one on
  };

  /// As it is after it went over the wire.
  static json::Value retold(const json::Value& value) { return json::parse(json::print(value)).value(); }
  static kapi::Outcome answer(const kapi::Call& call, int http, const json::Value& body) {
    return kapi::decodeAnswerValue(call, http, body);
  }
  static kapi::Outcome refuse(const kapi::Call& call, int http, const char* reason) {
    return answer(call, http,
                  json::Object{{"kind", "Status"}, {"reason", reason}, {"message", reason}, {"code", http}});
  }
  static std::string labelIn(const std::string& query) {
    constexpr std::string_view kBefore = "labelSelector=";
    const auto at = query.find(kBefore);
    if (at == std::string::npos) { return {}; }
    std::string out = query.substr(at + kBefore.size(), query.find('&', at) - at - kBefore.size());
    for (const auto& [code, is] : {std::pair{"%2F", "/"}, std::pair{"%3D", "="}}) {
      for (auto found = out.find(code); found != std::string::npos; found = out.find(code)) {
        out.replace(found, 3, is);
      }
    }
    return out;
  }
  static bool hasLabel(const json::Value& object, const std::string& label) {
    const auto equals = label.find('=');
    return label.empty() ||
           object["metadata"]["labels"][label.substr(0, equals)].str() == label.substr(equals + 1);
  }
  static Key keyOf(const kapi::Call& call) { return {std::string{call.kind->plural}, call.key}; }

  kapi::Outcome list(const kapi::Call& call) {
    json::Array items;
    for (const auto& [key, object] : objects) {
      if (key.first == call.kind->plural && hasLabel(object, labelIn(call.query))) {
        items.push_back(object);
      }
    }
    return answer(call, 200,
                  json::Object{{"kind", "List"},
                               {"metadata", json::Object{{"resourceVersion", std::to_string(revision_)}}},
                               {"items", std::move(items)}});
  }
  kapi::Outcome get(const kapi::Call& call) {
    const auto it = objects.find(keyOf(call));
    return it == objects.end() ? refuse(call, 404, "NotFound") : answer(call, 200, it->second);
  }
  kapi::Outcome create(const kapi::Call& call) {
    json::Value object = call.body;
    if (objects.contains({std::string{call.kind->plural}, kapi::objectKey(object)})) {
      return refuse(call, 409, "AlreadyExists");
    }
    return answer(call, 201, put(call.kind, std::move(object)));
  }
  /// RFC 7386.
  static void merge(json::Value& to, const json::Value& patch) {
    for (const auto& [key, value] : patch.members()) {
      if (value.isNull()) {
        to.erase(key);
      } else if (value.isObject()) {
        if (!to[key].isObject()) { to.set(key, json::Object{}); }
        merge(*to.object().find(key), value);
      } else {
        to.set(key, value);
      }
    }
  }
  kapi::Outcome patch(const kapi::Call& call) {
    const auto it = objects.find(keyOf(call));
    if (it == objects.end()) { return refuse(call, 404, "NotFound"); }
    const json::Value before = it->second;
    for (const char* name : {"uid", "resourceVersion"}) {
      const auto wanted = call.body["metadata"][name].str();
      if (!wanted.empty() && wanted != before["metadata"][name].str()) {
        return refuse(call, 409, "Conflict");
      }
    }
    if (call.subresource == "status") {
      it->second.set("status", before["status"]);
      merge(it->second, json::Object{{"status", call.body["status"]}});
    } else {
      EXPECT_EQ(call.body.find("status"), nullptr);
      merge(it->second, call.body);
    }
    touch(it->first);
    const kapi::Outcome out = answer(call, 200, it->second);
    const bool is_over = !it->second["metadata"]["deletionTimestamp"].isNull() &&
                         it->second["metadata"]["finalizers"].items().empty();
    if (is_over) { vanish(Key{it->first}); }
    return out;
  }
  /// PUT of a status; anything else in the body means nothing.
  kapi::Outcome update(const kapi::Call& call) {
    EXPECT_EQ(call.subresource, "status");
    const auto it = objects.find(keyOf(call));
    if (it == objects.end()) { return refuse(call, 404, "NotFound"); }
    for (const char* name : {"uid", "resourceVersion"}) {
      if (call.body["metadata"][name].str() != it->second["metadata"][name].str()) {
        return refuse(call, 409, "Conflict");
      }
    }
    it->second.set("status", call.body["status"]);
    touch(it->first);
    return answer(call, 200, it->second);
  }
  kapi::Outcome erase(const kapi::Call& call) {
    const auto it = objects.find(keyOf(call));
    if (it == objects.end()) { return refuse(call, 404, "NotFound"); }
    for (const char* name : {"uid", "resourceVersion"}) {
      const auto wanted = call.body["preconditions"][name].str();
      if (wanted != it->second["metadata"][name].str()) { return refuse(call, 409, "Conflict"); }
    }
    deleteSoftly(call.kind, call.key);
    return answer(call, 200, json::Object{{"kind", "Status"}, {"status", "Success"}});
  }
  void vanish(const Key& at) {
    const auto object = objects.extract(at);
    ++revision_;
    tell(at, kapi::WatchType::Deleted, object.mapped());
  }
  void tell(const Key& at, kapi::WatchType type) { tell(at, type, objects.at(at)); }
  void tell(const Key& at, kapi::WatchType type, const json::Value& object, const json::Value& before = {}) {
    history_[at.first].emplace(revision_, Event{type, at.second, object, before});
  }

  std::map<std::pair<int, kapi::Token>, Stream> streams_;            // by who watches, and token
  std::map<std::string, std::map<model::Revision, Event>> history_;  // by plural
  model::Revision revision_ = 100;
};

}  // namespace gs::gkm
