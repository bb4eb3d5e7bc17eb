// The protocol of own_object.h as a table: in which phase which answer leads to which phase, and what is sent
// then.
#include "agent/own_object.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "kapi/time.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;
using Phase = OwnObject::Phase;
using Boot = OwnObject::Boot;
using What = Calls::What;

const char* nameOf(Phase phase) {
  switch (phase) {
    case Phase::Unread: return "Unread";
    case Phase::Read: return "Read";
    case Phase::Applied: return "Applied";
    case Phase::Writing: return "Writing";
    case Phase::Behind: return "Behind";
  }
  return "?";
}

/// What the API server says to a call of the object's.
enum class ApiAnswer : std::uint8_t {
  There,     // 200, and the object
  Others,    // 200, and the object, in whose list others wrote GPU 9
  NotFound,  // 404 by a Status
  NoKind,    // 404 in plain text: the kind is not served
  Conflict,  // 409
  Broken,    // 500
  Lost,      // none came
};

const char* nameOf(ApiAnswer answer) {
  static constexpr std::array kNames{"There", "Others", "NotFound", "NoKind", "Conflict", "Broken", "Lost"};
  return kNames.at(static_cast<std::size_t>(answer));
}

/// The object, and the API server that it talks to. Whoever reads the Node answers at once.
class OwnCase {
 public:
  explicit OwnCase(std::string boot_id = "boot-1") : boot_id_{std::move(boot_id)} {
    view.devices.resize(1);
    go();
  }

  /// As the agent at each event. What is sent goes into `sent`, a word for each call.
  void go() {
    kapi::Effects out;
    calls.tick(now.mono);
    object.read(now, out);
    if (object.needsOwner()) {
      sent += "node ";
      object.ownedBy(model::Uid{"node-1"});
    }
    object.apply(now, out);
    object.takeOutOthers(now, out);
    if (object.mayWrite(now.mono)) { object.write(view, now, out); }
    for (auto& effect : out) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { take(std::move(*call)); }
    }
  }
  /// The call that was sent last is answered; go() follows.
  void answer(ApiAnswer answer) {
    kapi::Effects out;
    const kapi::Outcome outcome = outcomeOf(answer);
    const auto what = calls.answered(outcome);
    ASSERT_TRUE(what) << "no call is under way";
    news = object.answered(*what, outcome, now, out);
  }
  void answerAndGo(ApiAnswer with) {
    answer(with);
    sent.clear();
    go();
  }
  void pass(Duration by) {
    now.mono += by;
    now.wall += std::chrono::duration_cast<std::chrono::microseconds>(by);
    go();
  }
  /// By the shortest way; the call of that phase is under way.
  void bringTo(Phase phase) {
    if (phase == Phase::Unread) { return; }
    answerAndGo(ApiAnswer::There);
    if (phase == Phase::Read) { return; }
    answerAndGo(ApiAnswer::There);
    if (phase == Phase::Writing) { return; }
    answerAndGo(phase == Phase::Behind ? ApiAnswer::Conflict : ApiAnswer::There);
  }
  [[nodiscard]] std::string versionSent() const {
    return std::string{last.body["metadata"]["resourceVersion"].str()};
  }

  Now now{Mono{1h}, Wall{1h}};
  NodeView view;
  OwnStatus stands;  // in the API
  std::string sent;
  kapi::Call last;
  OwnObject::News news;

 private:
  void take(kapi::Call call) {
    const bool is_status = call.subresource == "status";
    sent += call.verb == kapi::Verb::Get          ? "get "
            : call.verb == kapi::Verb::MergePatch ? "patch "
            : is_status                           ? "status "
                                                  : "object ";
    last = std::move(call);
  }
  kapi::Outcome outcomeOf(ApiAnswer answer) {
    kapi::Outcome o;
    o.token = last.token;
    const bool is_well = answer == ApiAnswer::There || answer == ApiAnswer::Others;
    static constexpr std::array kHttp{200, 200, 404, 404, 409, 500, 0};
    o.http = kHttp.at(static_cast<std::size_t>(answer));
    o.result = is_well             ? kapi::CallResult::Applied
               : o.http % 500 == 0 ? kapi::CallResult::Unknown
                                   : kapi::CallResult::Refused;
    if (answer == ApiAnswer::NotFound) { o.reason = "NotFound"; }
    if (!is_well) { return o; }
    if (last.verb != kapi::Verb::Get) { stands.revision = ++revision_; }
    if (last.subresource == "status") { stands.view = view; }
    if (answer == ApiAnswer::Others) { stands.view.devices.emplace_back().id = 9; }
    o.object = std::make_shared<const OwnStatus>(stands);
    return o;
  }

  std::string boot_id_;
  Rng rng_{1};
  Users users_;
  model::Revision revision_ = 100;

 public:
  Calls calls{7, model::NodeName{"n"}, rng_};
  OwnObject object{model::NodeName{"n"}, boot_id_, Pace{{60s, 10s}, users_, rng_}, calls};
};

struct ProtocolRow {
  Phase from;
  ApiAnswer answer;
  Phase to;
  const char* at_once;
  const char* later;  // within the longest wait
};
std::vector<ProtocolRow> protocol() {
  using enum OwnObject::Phase;
  using enum ApiAnswer;
  // clang-format off
  return {
      // in     answered  then in  sent at once    and after a wait
      {Unread,  There,    Read,    "object ",      ""},
      {Unread,  NotFound, Read,    "object ",      ""},
      {Unread,  NoKind,   Unread,  "",             "get "},
      {Unread,  Broken,   Unread,  "",             "get "},
      {Unread,  Lost,     Unread,  "",             "get "},

      {Read,    There,    Applied, "status ",      ""},
      {Read,    Conflict, Read,    "node ",        "object "},
      {Read,    NoKind,   Read,    "node ",        "object "},
      {Read,    Broken,   Read,    "node ",        "object "},
      {Read,    Lost,     Read,    "node ",        "object "},

      {Writing, There,    Applied, "",             ""},
      {Writing, Others,   Applied, "patch ",       ""},
      {Writing, Conflict, Behind,  "get ",         ""},
      {Writing, NotFound, Read,    "node object ", ""},
      {Writing, NoKind,   Applied, "",             "status "},
      {Writing, Broken,   Applied, "",             "status "},
      {Writing, Lost,     Applied, "",             "status "},

      {Behind,  There,    Applied, "",             "status "},
      {Behind,  NotFound, Read,    "node object ", ""},
      {Behind,  NoKind,   Behind,  "",             "get "},
      {Behind,  Broken,   Behind,  "",             "get "},
      {Behind,  Lost,     Behind,  "",             "get "},
  };
  // clang-format on
}

class OwnObjectTable : public ::testing::TestWithParam<ProtocolRow> {};

TEST_P(OwnObjectTable, Goes) {
  const ProtocolRow& row = GetParam();
  OwnCase own;
  own.bringTo(row.from);
  ASSERT_EQ(own.object.phase(), row.from);
  own.answer(row.answer);
  EXPECT_EQ(own.object.phase(), row.to) << nameOf(own.object.phase());
  own.sent.clear();
  own.go();
  EXPECT_EQ(own.sent, row.at_once);
  own.sent.clear();
  own.pass(12s);
  EXPECT_EQ(own.sent, row.later);
}

INSTANTIATE_TEST_SUITE_P(Protocol, OwnObjectTable, ::testing::ValuesIn(protocol()), [](const auto& row) {
  return fmt::format("{}_{}", nameOf(row.param.from), nameOf(row.param.answer));
});

TEST(OwnObject, AStatusLeavesWhenItChangedOrIsDueAndOneAtATime) {
  OwnCase own;
  own.bringTo(Phase::Applied);
  own.sent.clear();
  own.pass(50s);
  EXPECT_EQ(own.sent, "");
  own.view.driver_version = "550";
  own.go();
  EXPECT_EQ(own.sent, "status ");
  EXPECT_EQ(own.object.phase(), Phase::Writing);
  own.view.driver_version = "560";
  own.go();
  EXPECT_EQ(own.sent, "status ") << "it goes with the next";
  own.answerAndGo(ApiAnswer::Broken);
  own.sent.clear();
  own.pass(1s);
  EXPECT_EQ(own.sent, "status ");
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.object.written()->view.driver_version, "560");
  ASSERT_TRUE(own.object.nextWrite());
  own.now.mono = *own.object.nextWrite();
  own.go();
  EXPECT_EQ(own.sent, "status ");
}

TEST(OwnObject, AStatusIsWrittenOnTheObjectAsItWasToldLast) {
  OwnCase own;
  own.bringTo(Phase::Writing);
  EXPECT_EQ(own.versionSent(), "101") << "by the answer to the apply of the object";
  own.answerAndGo(ApiAnswer::Others);
  EXPECT_EQ(own.versionSent(), "102") << "the patch is, too: by the answer to the status";
  own.view.driver_version = "550";
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.sent, "status ");
  EXPECT_EQ(own.versionSent(), "103") << "by the answer to the patch";
  own.stands.revision = 200;
  own.answerAndGo(ApiAnswer::Conflict);
  own.answerAndGo(ApiAnswer::There);
  own.pass(12s);
  EXPECT_EQ(own.versionSent(), "200") << "by the answer to the read";
}

TEST(OwnObject, ALookAtContainersCountsWhileItIsKnownWhatStandsThereAndNoStatusIsUnderWay) {
  struct Case {
    Phase phase;
    bool counts;
  };
  for (const Case& c : {Case{Phase::Unread, false}, Case{Phase::Read, true}, Case{Phase::Applied, true},
                        Case{Phase::Writing, false}, Case{Phase::Behind, false}}) {
    SCOPED_TRACE(nameOf(c.phase));
    OwnCase own;
    own.stands.observed_time = "before";
    own.bringTo(c.phase);
    own.now.wall += 5s;
    const std::string looked = kapi::microTimeText(own.now.wall);
    own.object.containersSeen(own.now);
    own.stands.observed_time = "";  // what is answered from now on says nothing of it
    for (int i = 0; i < 9 && own.sent.find("status") == std::string::npos; ++i) {
      if (c.phase != Phase::Applied) { own.answer(ApiAnswer::There); }
      own.sent.clear();
      own.pass(12s);
    }
    EXPECT_EQ(std::string{own.last.body["status"]["observedTime"].str()} == looked, c.counts);
  }
}

TEST(OwnObject, TheFirstLookThatCountsAfterAReadIsWrittenAtOnce) {
  OwnCase own;
  own.stands.observed_time = "before";
  own.bringTo(Phase::Applied);
  own.sent.clear();
  own.object.containersSeen(own.now);
  own.go();
  EXPECT_EQ(own.sent, "status ");
  own.answerAndGo(ApiAnswer::There);
  own.pass(1s);
  own.object.containersSeen(own.now);
  own.go();
  EXPECT_EQ(own.sent, "") << "the next one waits for its time";
}

TEST(OwnObject, UntilAStatusIsWrittenWhatStandsThereIsTold) {
  OwnCase own;
  own.answerAndGo(ApiAnswer::There);
  EXPECT_NE(own.news.stands, nullptr);
  own.answerAndGo(ApiAnswer::There);
  EXPECT_NE(own.news.stands, nullptr) << "an earlier process may have written late";
  own.answerAndGo(ApiAnswer::Conflict);
  own.answerAndGo(ApiAnswer::There);
  EXPECT_NE(own.news.stands, nullptr);
  own.pass(12s);
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.news.stands, nullptr);
  ASSERT_NE(own.object.written(), nullptr);
  own.view.driver_version = "550";
  own.go();
  own.answerAndGo(ApiAnswer::Conflict);
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.news.stands, nullptr) << "it has written one";
}

TEST(OwnObject, SaysOfWhichBootOfTheMachineTheObjectWasThatStoodThere) {
  struct Case {
    const char* stood;
    const char* is;
    Boot boot;
  };
  for (const Case& c : {Case{"boot-1", "boot-1", Boot::This}, Case{"boot-0", "boot-1", Boot::Other},
                        Case{"", "boot-1", Boot::Unknown}, Case{"boot-1", "", Boot::Unknown}}) {
    OwnCase own{c.is};
    own.stands.boot_id = c.stood;
    own.answerAndGo(ApiAnswer::There);
    EXPECT_EQ(own.object.boot(), c.boot) << c.stood << " and " << c.is;
    own.stands.boot_id = c.is;
    own.answerAndGo(ApiAnswer::There);
    EXPECT_EQ(own.object.boot(), c.boot) << "its own write is no news";
  }
}

// ---- GPUs of others in the list

TEST(OwnObject, WhileThoseOfOthersAreTakenOutNoStatusLeaves) {
  OwnCase own;
  own.bringTo(Phase::Writing);
  own.answerAndGo(ApiAnswer::Others);
  EXPECT_EQ(own.news.of_others, std::vector{9});
  EXPECT_EQ(own.sent, "patch ");
  EXPECT_EQ(own.last.body["status"]["devices"].items().size(), 1U);
  own.view.driver_version = "550";
  own.pass(1s);
  EXPECT_EQ(own.sent, "patch ");
  EXPECT_EQ(own.object.nextWrite(), std::nullopt);
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.sent, "status ");
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.news.of_others, std::vector<int>{});
}

TEST(OwnObject, WhatComesOfTakingThemOutIsSeenByTheNextStatus) {
  for (const ApiAnswer answer : {ApiAnswer::Conflict, ApiAnswer::Broken, ApiAnswer::Lost}) {
    OwnCase own;
    own.bringTo(Phase::Writing);
    own.answerAndGo(ApiAnswer::Others);
    own.answerAndGo(answer);
    EXPECT_EQ(own.object.phase(), Phase::Applied);
    EXPECT_EQ(own.calls.trouble().empty(), answer == ApiAnswer::Conflict) << own.calls.trouble();
    own.pass(12s);
    EXPECT_EQ(own.sent, "") << "it is not tried by itself";
    own.view.driver_version = "550";
    own.go();
    own.answerAndGo(ApiAnswer::Others);
    EXPECT_EQ(own.sent, "patch ");
  }
}

// ---- where the node has a DRA driver

/// The scheduler kept the object; its GPUs are those that the driver publishes.
OwnStatus keptByScheduler() {
  OwnStatus out;
  out.writer = model::Writer::Scheduler;
  out.repeats_driver = true;
  out.says_dra = true;
  out.revision = 50;
  return out;
}

TEST(OwnObjectOfADriver, WhatTheSchedulerKeptIsTakenOverAndEmptiedBeforeTheFirstStatus) {
  OwnCase own;
  own.stands = keptByScheduler();
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.news.stands, nullptr) << "nobody saw those GPUs";
  EXPECT_EQ(own.object.boot(), Boot::This) << "as if nothing had stood there";
  EXPECT_EQ(own.sent, "object ");
  EXPECT_EQ(own.last.body["metadata"]["labels"][model::kWrittenByKey].str(), model::kByAgent);
  own.stands.writer = model::Writer::Agent;
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.sent, "patch ");
  EXPECT_EQ(own.versionSent(), "101") << "as the answer to the apply showed it";
  EXPECT_EQ(json::print(own.last.body["status"]), R"({"devices":[]})");
  own.pass(1s);
  EXPECT_EQ(own.sent, "patch ") << "no status before its answer";
  own.stands.repeats_driver = false;
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.sent, "status ");
  EXPECT_TRUE(own.last.body["status"]["enforcement"].isNull()) << "the scheduler's word stays";
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.news.of_others, std::vector<int>{});
}

TEST(OwnObjectOfADriver, WhereItCouldNotBeEmptiedItIsReadAgainFirst) {
  for (const ApiAnswer answer : {ApiAnswer::Conflict, ApiAnswer::Broken, ApiAnswer::Lost}) {
    SCOPED_TRACE(nameOf(answer));
    OwnCase own;
    own.stands = keptByScheduler();
    own.answerAndGo(ApiAnswer::There);
    own.stands.writer = model::Writer::Agent;
    own.answerAndGo(ApiAnswer::There);
    ASSERT_EQ(own.sent, "patch ");
    own.answerAndGo(answer);
    EXPECT_EQ(own.object.phase(), Phase::Behind);
    EXPECT_EQ(own.sent, "get ");
    own.answer(ApiAnswer::There);
    own.sent.clear();
    own.pass(12s);
    EXPECT_EQ(own.sent, "patch ") << "and tried again";
    own.stands.repeats_driver = false;
    own.answerAndGo(ApiAnswer::There);
    EXPECT_EQ(own.sent, "status ");
  }
}

TEST(OwnObjectOfADriver, OneThatTheSchedulerMadeAnewIsTakenOverAnew) {
  OwnCase own;
  own.bringTo(Phase::Behind);
  own.stands = keptByScheduler();
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.object.phase(), Phase::Read);
  own.pass(12s);
  EXPECT_NE(own.sent.find("object "), std::string::npos) << own.sent;
}

TEST(OwnObjectOfADriver, ItsOwnWordIsWrittenUntilTheSchedulersIsSeenAndAfterThat) {
  OwnCase own;
  own.view.enforcement = model::Enforcement::Env;
  own.bringTo(Phase::Writing);
  EXPECT_EQ(own.last.body["status"]["enforcement"].str(), "env");
  own.answer(ApiAnswer::Conflict);
  own.go();
  for (const bool says_dra : {true, false}) {
    own.stands.says_dra = says_dra;
    own.answer(ApiAnswer::There);  // to the read
    own.pass(12s);
    ASSERT_EQ(own.last.subresource, "status");
    EXPECT_EQ(own.last.body["status"]["enforcement"].str(), says_dra ? "" : "env");
    own.answer(ApiAnswer::There);
    own.view.driver_version += "1";
    own.go();
    EXPECT_EQ(own.last.body["status"]["enforcement"].str(), says_dra ? "" : "env");
    own.answer(ApiAnswer::Conflict);
    own.go();
  }
}

TEST(OwnObjectOfADriver, WhatWasMadeByHandGetsNoLabelForItCountsWithoutALook) {
  OwnCase own;
  own.stands.view.devices.resize(1);
  own.answerAndGo(ApiAnswer::There);
  EXPECT_NE(own.news.stands, nullptr);
  EXPECT_EQ(own.sent, "object ");
  EXPECT_TRUE(own.last.body["metadata"]["labels"].isNull());
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.sent, "status ");

  OwnCase fresh;
  fresh.answerAndGo(ApiAnswer::NotFound);
  EXPECT_EQ(fresh.last.body["metadata"]["labels"][model::kWrittenByKey].str(), model::kByAgent);
}

// ---- what is in the way

TEST(OwnObject, OneConflictIsNoTroubleAndASecondInARowIs) {
  OwnCase own;
  own.bringTo(Phase::Behind);
  EXPECT_EQ(own.calls.trouble(), "");
  own.answerAndGo(ApiAnswer::There);
  own.pass(12s);
  own.answerAndGo(ApiAnswer::Conflict);
  EXPECT_NE(own.calls.trouble().find("writing the status of GpuNodeStatus n: 409"), std::string::npos);
  own.answerAndGo(ApiAnswer::There);
  own.pass(12s);
  own.answerAndGo(ApiAnswer::There);
  EXPECT_EQ(own.calls.trouble(), "");
}

}  // namespace
}  // namespace gs::agent
