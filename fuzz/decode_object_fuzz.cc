// Any bytes as an object of every kind and as the answer to every verb: no crash; leases survive being
// written again; what is decoded from the text equals what is decoded from its value.
#include <cstdint>
#include <string_view>

#include "agent/kinds.h"
#include "kapi/decode.h"
#include "kapi/paths.h"
#include "kapi/write.h"
#include "kcache/kinds/kinds.h"
#include "testing/kinds.h"

namespace {

using namespace gs;

void writeAgain(const model::Lease& lease) {
  if (lease.format != 1 || !lease.malformed.empty()) { return; }
  json::Value body = kapi::updateLease(lease).body;
  model::Lease again = kapi::decodeLease(body);
  again.managed = lease.managed;
  again.record = lease.record;
  again.uid = lease.uid;
  again.revision = lease.revision;
  if (!(again == lease)) { __builtin_trap(); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  if (const auto document = json::Document::read(in)) {
    const json::Value v = document->root().value();
    auto kinds = testing::allKinds();
    kinds.push_back(agent::kOwnStatus);
    for (const kapi::Kind kind :
         {kcache::kCache, kcache::kClusterCache, kcache::kCacheNode, kcache::kClusterCacheNode}) {
      kinds.push_back(kind);
    }
    for (const kapi::Kind kind : kinds) {
      const auto object = kapi::decodeObject(kind, v);
      if (!(object == kapi::decodeObject(kind, document->root()))) { __builtin_trap(); }
      static_cast<void>(object.key());
      static_cast<void>(object.revision());
    }
    writeAgain(kapi::decodeLease(v));
  }
  const auto kinds = testing::allKinds();
  for (const auto verb : {kapi::Verb::Get, kapi::Verb::List, kapi::Verb::Create, kapi::Verb::Delete}) {
    for (const int status : {0, 200, 409, 500}) {
      kapi::Call call;
      call.verb = verb;
      call.kind = kinds[size % kinds.size()];
      call.key = {"ns", "name"};
      const auto outcome = kapi::decodeAnswer(call, status, in, {});
      if (status == 409 && outcome.result != kapi::CallResult::Refused) { __builtin_trap(); }
      if ((status == 0 || status == 500) && outcome.result != kapi::CallResult::Unknown) { __builtin_trap(); }
    }
  }
  return 0;
}
