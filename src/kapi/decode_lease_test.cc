#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kapi/decode.h"
#include "kapi/write.h"
#include "model/annotations.h"

namespace gs::kapi {
namespace {

/// What the API server would hold after this write.
json::Value stored(const Call& call, const model::Lease& lease) {
  json::Value v = call.body;
  v.child("metadata").set("uid", lease.uid.text);
  v.child("metadata").set("resourceVersion", std::to_string(lease.revision));
  return v;
}

model::Lease exclusiveLease() {
  model::Lease l;
  l.key = {"gs", "gpu-node-a-1"};
  l.uid = model::Uid{"l-1"};
  l.revision = 5;
  l.managed = true;
  l.holder = "u-1";
  l.format = 1;
  l.node = model::NodeName{"node-a"};
  l.gpu = 1;
  l.uuid = "GPU-1";
  l.pod = {"team-a", "train-0"};
  l.pod_uid = model::Uid{"u-1"};
  l.reservation = model::ReservationId{"r-1"};
  l.devices = "node-a:0,1";
  return l;
}

model::ShareHolder holder(const std::string& uid) {
  return {model::Uid{uid}, {"team-a", "pod-" + uid}, 500, 4096, model::ReservationId{"r-" + uid}, "node-a:1"};
}

model::Lease sharedLease(int holders) {
  model::Lease l = exclusiveLease();
  l.holder = "shared";
  l.pod = {};
  l.pod_uid = {};
  l.reservation = {};
  l.devices.clear();
  for (int i = 0; i < holders; ++i) { l.holders.push_back(holder("u-" + std::to_string(100 + i))); }
  return l;
}

model::Lease changed(const char* annotation, const json::Value& value) {
  const model::Lease lease = exclusiveLease();
  json::Value v = stored(createLease(lease), lease);
  json::Value& annotations = v.child("metadata").child("annotations");
  const std::string key = std::string{"gpu.scheduling/"} + annotation;
  if (value.isNull()) {
    annotations.erase(key);
  } else {
    annotations.set(key, value);
  }
  return decodeLease(v);
}

TEST(DecodeLease, ReadsWhatCreateLeaseWrote) {
  const model::Lease lease = exclusiveLease();
  EXPECT_EQ(decodeLease(stored(createLease(lease), lease)), lease);
}

TEST(DecodeLease, ReadsASharedLeaseWithUpTo64Holders) {
  for (const int n : {1, 2, 64}) {
    const model::Lease lease = sharedLease(n);
    EXPECT_EQ(decodeLease(stored(updateLease(lease), lease)), lease);
  }
}

TEST(DecodeLease, SortsHoldersByUid) {
  model::Lease lease = sharedLease(0);
  lease.holders = {holder("b"), holder("a")};
  const auto read = decodeLease(stored(createLease(lease), lease));
  EXPECT_EQ(read.holders, (std::vector{holder("a"), holder("b")}));
  EXPECT_EQ(read.malformed, "");
}

TEST(DecodeLease, AnAncestorsLeaseHasFormat0) {
  const auto v =
      json::parse(R"({"metadata":{"namespace":"team-a","name":"gpu-node-a-1","uid":"l","resourceVersion":"3",
    "labels":{"gpu.scheduling/managed":"true","gpu.scheduling/pod":"train-0"}},
    "spec":{"holderIdentity":"u-1"}})");
  const model::Lease lease = decodeLease(*v);
  EXPECT_EQ(lease.format, 0);
  EXPECT_TRUE(lease.managed);
  EXPECT_EQ(lease.holder, "u-1");
  EXPECT_EQ(lease.gpu, -1);
  EXPECT_EQ(lease.malformed, "");
}

TEST(DecodeLease, ReadsTheElectionsRecord) {
  const auto v = json::parse(R"({"metadata":{"namespace":"gs","name":"scheduler.gpu.scheduling"},"spec":{
    "holderIdentity":"me","leaseDurationSeconds":5,"acquireTime":"2025-06-15T15:06:40.000001Z",
    "renewTime":"2025-06-15T15:06:41.000001Z","leaseTransitions":3}})");
  const model::Lease lease = decodeLease(*v);
  EXPECT_FALSE(lease.managed);
  EXPECT_EQ(lease.record,
            (model::Lease::Record{5, 3, "2025-06-15T15:06:40.000001Z", "2025-06-15T15:06:41.000001Z"}));
}

TEST(DecodeLease, AMalformedLeaseSaysWhyAndKeepsWhatCanBeRead) {
  struct Case {
    const char* annotation;
    json::Value value;
    const char* says;
  };
  const Case cases[] = {{"node", nullptr, "gpu.scheduling/node is missing"},
                        {"gpu", "one", "gpu='one'"},
                        {"gpu", "1024", "gpu='1024'"},
                        {"node", "node-b", "do not contain GPU 1 of node node-b"},
                        {"devices", "rubbish", "'rubbish'"},
                        {"devices", nullptr, "allocation ''"},
                        {"reservation", nullptr, "reservation is missing"},
                        {"pod-namespace", "", "pod-namespace is missing"},
                        {"pod-uid", "u-2", "holderIdentity 'u-1' is not the pod-uid 'u-2'"},
                        {"format", "2", "format '2' is not this version's"},
                        {"format", "x", "format 'x' is not this version's"},
                        {"format", 1, "format '' is not this version's"}};
  for (const auto& c : cases) {
    const model::Lease lease = changed(c.annotation, c.value);
    EXPECT_NE(lease.malformed.find(c.says), std::string::npos) << c.annotation << ": " << lease.malformed;
    EXPECT_GE(lease.format, 1) << c.annotation;
    if (std::string_view{c.annotation} != "node") { EXPECT_EQ(lease.node, model::NodeName{"node-a"}); }
    if (std::string_view{c.annotation} != "gpu") { EXPECT_EQ(lease.gpu, 1); }
  }
  EXPECT_EQ(changed("uuid", nullptr).malformed, "");
}

TEST(DecodeLease, OnlyALeaseThatSaysItsGpuFollowsIt) {
  model::Lease lease = exclusiveLease();
  lease.gpu = 2;
  EXPECT_EQ(decodeLease(stored(createLease(lease), lease)).malformed, "");
  lease.uuid.clear();
  EXPECT_NE(decodeLease(stored(createLease(lease), lease)).malformed.find("do not contain GPU 2"),
            std::string::npos);
}

TEST(DecodeLease, MalformedHolders) {
  const auto read = [](const std::string& holders) {
    const model::Lease lease = sharedLease(1);
    json::Value v = stored(createLease(lease), lease);
    v.child("metadata").child("annotations").set("gpu.scheduling/holders", holders);
    return decodeLease(v);
  };
  EXPECT_NE(read("").malformed, "");
  EXPECT_NE(read("{}").malformed.find("no JSON array"), std::string::npos);
  EXPECT_NE(read("[").malformed.find("no JSON array"), std::string::npos);
  EXPECT_NE(read("[]").malformed.find("empty"), std::string::npos);
  EXPECT_NE(read("[{}]").malformed.find("without uid"), std::string::npos);
  const std::string one =
      R"({"uid":"a","namespace":"n","name":"p","milli":0,"mib":0,"reservation":"r","devices":"node-a:1"})";
  EXPECT_EQ(read("[" + one + "]").malformed, "");
  EXPECT_NE(read("[" + one + "," + one + "]").malformed.find("twice"), std::string::npos);
  const model::Lease partly = read("[" + one + R"(,{"uid":"b","milli":-1}])");
  EXPECT_NE(partly.malformed, "");
  EXPECT_EQ(partly.holders.size(), 2U);
  EXPECT_EQ(partly.holders[1].milli, 0);
  const model::Lease crowded = decodeLease(stored(createLease(sharedLease(65)), sharedLease(65)));
  EXPECT_NE(crowded.malformed.find("65 entries"), std::string::npos);
  EXPECT_EQ(crowded.holders.size(), model::kMaxSharers) << "each of them costs a look at its pod";
}

/// Another version's, or a damaged one.
TEST(DecodeLease, WhoLeavesASharedLeaseThatWasNotReadInFullLeavesAllElseAsItWas) {
  const model::Lease known = sharedLease(1);
  json::Value there = stored(createLease(known), known);
  there.erase("kind");  // as in a list
  json::Value& metadata = there.child("metadata");
  metadata.set("managedFields", json::Array{json::Object{{"manager", "gpu-scheduler"}}});
  metadata.child("labels").set("example.com/of", "somebody");
  metadata.child("annotations").set("gpu.scheduling/format", "2");
  metadata.child("annotations").set("gpu.scheduling/to-come", "[1, 2]");
  metadata.child("annotations")
      .set("gpu.scheduling/holders", R"([{"uid":"b","share":{"sm":5}},{"uid":"a"},{"who":"c"}])");
  const model::Lease lease = decodeLease(there);
  EXPECT_TRUE(lease.other_format);
  EXPECT_EQ(decodeLease(stored(createLease(known), known)).as_written, "") << "that was read in full";

  const Call call = leaveLease(lease, {model::Uid{"a"}});
  EXPECT_EQ(call.verb, Verb::Update);
  EXPECT_EQ(call.key, lease.key);
  json::Value wanted = there;
  wanted.set("kind", "Lease");
  wanted.child("metadata").erase("managedFields");
  wanted.child("metadata")
      .child("annotations")
      .set("gpu.scheduling/holders", R"([{"uid":"b","share":{"sm":5}},{"who":"c"}])");
  EXPECT_EQ(call.body, wanted);
  EXPECT_EQ(leaveLease(lease, {model::Uid{"a"}, model::Uid{"b"}}).verb, Verb::Update) << "c is in it";
  metadata.child("annotations").set("gpu.scheduling/holders", R"([{"uid":"b"},{"uid":"a"}])");
  EXPECT_EQ(leaveLease(decodeLease(there), {model::Uid{"a"}, model::Uid{"b"}}).verb, Verb::Delete);
}

TEST(DecodeLease, OfMoreSharersThanCanBeReadTheOthersStayWhenOneLeaves) {
  const model::Lease crowded = decodeLease(stored(createLease(sharedLease(65)), sharedLease(65)));
  ASSERT_EQ(crowded.holders.size(), model::kMaxSharers);
  const Call call = leaveLease(crowded, {crowded.holders.front().uid});
  const auto left = json::parse(call.body["metadata"]["annotations"]["gpu.scheduling/holders"].str());
  EXPECT_EQ(left->items().size(), 64U);
}

TEST(DecodeLeaseProperty, SharedLeasesSurviveAWriteAndARead) {
  EXPECT_TRUE(rc::check([] {
    model::Lease lease = sharedLease(0);
    const auto uids = *rc::gen::resize(20, rc::gen::nonEmpty(rc::gen::container<std::set<std::string>>(
                                               rc::gen::nonEmpty(rc::gen::string<std::string>()))));
    for (const auto& uid : uids) {
      // Bytes that are no UTF-8 do not survive JSON; the API server has none.
      std::string ascii;
      for (const char c : uid) { ascii += static_cast<char>(static_cast<unsigned char>(c) % 127U + 1); }
      if (std::any_of(lease.holders.begin(), lease.holders.end(),
                      [&](const auto& h) { return h.uid.text == ascii; })) {
        continue;
      }
      auto h = holder(ascii);
      h.milli = *rc::gen::inRange(0, 1001);
      h.mib = *rc::gen::inRange<std::int64_t>(0, 200'000);
      lease.holders.push_back(h);
    }
    std::sort(lease.holders.begin(), lease.holders.end());
    RC_ASSERT(decodeLease(stored(updateLease(lease), lease)) == lease);
  }));
}

}  // namespace
}  // namespace gs::kapi
