#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"

namespace gs::kapi {
namespace {

using std::chrono::seconds;

Call callOf(Verb verb, Kind kind = kPod, const char* subresource = "") {
  Call c;
  c.token = 77;
  c.verb = verb;
  c.kind = kind;
  c.key = {"ns", "p"};
  c.subresource = subresource;
  return c;
}

std::string statusBody(int code, const char* reason, const char* details = "{}") {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"told you","reason":")" +
         std::string{reason} + R"(","details":)" + details + R"(,"code":)" + std::to_string(code) + "}";
}

constexpr const char* kPodBody = R"({"kind":"Pod","metadata":{"name":"p","uid":"u","resourceVersion":"9"}})";

TEST(DecodeAnswer, ARefusalIsAnAnswerThatNothingWasDone) {
  for (const int code : {400, 401, 403, 404, 405, 409, 413, 415, 422, 429}) {
    const Outcome o = decodeAnswer(callOf(Verb::Update), code, statusBody(code, "Because"), {});
    EXPECT_EQ(o.result, CallResult::Refused) << code;
    EXPECT_EQ(o.http, code);
    EXPECT_EQ(o.reason, "Because");
    EXPECT_EQ(o.message, "told you");
    EXPECT_EQ(o.token, 77U);
  }
}

TEST(DecodeAnswer, AnythingElseIsUnknown) {
  for (const int code : {100, 301, 304, 402, 406, 408, 410, 418, 500, 502, 503, 504}) {
    EXPECT_EQ(decodeAnswer(callOf(Verb::Create), code, statusBody(code, "X"), {}).result, CallResult::Unknown)
        << code;
  }
  const Outcome lost = decodeAnswer(callOf(Verb::Create), 0, "connection reset", {});
  EXPECT_EQ(lost.result, CallResult::Unknown);
  EXPECT_EQ(lost.message, "connection reset");
  EXPECT_EQ(lost.http, 0);
}

TEST(DecodeAnswer, ABodyThatIsNoStatusIsShown) {
  const Outcome o = decodeAnswer(callOf(Verb::Get), 404, "404 page\nnot found\n", {});
  EXPECT_EQ(o.message, "404 page not found");
  EXPECT_EQ(o.reason, "");
  EXPECT_FALSE(o.is_status);
  EXPECT_TRUE(decodeAnswer(callOf(Verb::Get), 404, statusBody(404, "NotFound", "{}"), {}).is_status);
  EXPECT_EQ(decodeAnswer(callOf(Verb::Get), 502, std::string(10'000, 'x'), {}).message.size(), 300U);
  EXPECT_EQ(decodeAnswer(callOf(Verb::Get), 500, "{}", {}).message, "{}");
}

TEST(DecodeAnswer, RetryAfterComesFromTheHeaderElseFromTheBody) {
  const auto body = statusBody(429, "TooManyRequests", R"({"retryAfterSeconds":3})");
  EXPECT_EQ(decodeAnswer(callOf(Verb::Get), 429, body, {}).retry_after, seconds{3});
  EXPECT_EQ(decodeAnswer(callOf(Verb::Get), 429, body, seconds{1}).retry_after, seconds{1});
  EXPECT_EQ(decodeAnswer(callOf(Verb::Get), 429, statusBody(429, "X", R"({"retryAfterSeconds":-5})"), {})
                .retry_after,
            seconds{0});
}

TEST(DecodeAnswer, NobodyWaitsForHoursBecauseAnAnswerSaysSo) {
  const auto body = statusBody(429, "TooManyRequests", R"({"retryAfterSeconds":3600})");
  EXPECT_EQ(decodeAnswer(callOf(Verb::Get), 429, body, {}).retry_after, kMostRetryAfter);
  EXPECT_EQ(decodeAnswer(callOf(Verb::Get), 429, "", std::chrono::hours{24}).retry_after, kMostRetryAfter);
}

TEST(DecodeAnswer, GetBringsTheObject) {
  const Outcome o = decodeAnswer(callOf(Verb::Get), 200, kPodBody, {});
  EXPECT_EQ(o.result, CallResult::Applied);
  ASSERT_TRUE(o.object.is<model::Pod>());
  EXPECT_EQ(o.object.revision(), 9U);
}

TEST(DecodeAnswer, AReadWithoutWhatWasAskedForIsUnknown) {
  for (const char* body : {"", "{", "[]", "null", R"({"kind":"Node","metadata":{"name":"p"}})", "<html>",
                           R"({"kind":"Status","status":"Success"})"}) {
    const Outcome o = decodeAnswer(callOf(Verb::Get), 200, body, {});
    EXPECT_EQ(o.result, CallResult::Unknown) << body;
    EXPECT_NE(o.message, "");
    EXPECT_EQ(o.http, 200);
  }
  for (const char* body :
       {"", R"({"kind":"PodList"})", R"({"kind":"PodList","metadata":{},"items":[]})", kPodBody}) {
    EXPECT_EQ(decodeAnswer(callOf(Verb::List), 200, body, {}).result, CallResult::Unknown) << body;
  }
}

TEST(DecodeAnswer, AWriteIsAppliedWhateverItsBodyIs) {
  for (const char* body : {"", "{", R"({"kind":"Other"})"}) {
    const Outcome o = decodeAnswer(callOf(Verb::Update), 200, body, {});
    EXPECT_EQ(o.result, CallResult::Applied) << body;
    EXPECT_TRUE(o.object.empty());
  }
  EXPECT_TRUE(
      decodeAnswer(callOf(Verb::MergePatch, kPod, "status"), 200, kPodBody, {}).object.is<model::Pod>());
}

TEST(DecodeAnswer, ABindingIsAnsweredByAStatus) {
  const Outcome o =
      decodeAnswer(callOf(Verb::Create, kPod, "binding"), 201,
                   R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})", {});
  EXPECT_EQ(o.result, CallResult::Applied);
  EXPECT_TRUE(o.object.empty());
}

TEST(DecodeAnswer, ADeleteIsAnsweredByAStatusOrTheObject) {
  EXPECT_EQ(decodeAnswer(callOf(Verb::Delete), 200, R"({"kind":"Status","status":"Success"})", {}).result,
            CallResult::Applied);
  const Outcome o = decodeAnswer(callOf(Verb::Delete), 202, kPodBody, {});
  EXPECT_EQ(o.result, CallResult::Applied);
  EXPECT_TRUE(o.object.is<model::Pod>());
}

TEST(DecodeAnswer, AListHasItemsRevisionAndContinue) {
  const Outcome o =
      decodeAnswer(callOf(Verb::List), 200,
                   R"({"kind":"PodList","metadata":{"resourceVersion":"55","continue":"abc="},"items":[
                                 {"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})",
                   {});
  EXPECT_EQ(o.result, CallResult::Applied);
  EXPECT_EQ(o.list_revision, 55U);
  EXPECT_EQ(o.continue_token, "abc=");
  ASSERT_EQ(o.items.size(), 2U);
  EXPECT_EQ(o.items[1].key().name, "b");
}

// ---- watches

std::string lineOf(const char* type, const char* object) {
  return R"({"type":")" + std::string{type} + R"(","object":)" + object + "}";
}

TEST(DecodeWatchLine, ReadsEveryType) {
  constexpr const char* kObject =
      R"({"kind":"Pod","metadata":{"namespace":"n","name":"p","resourceVersion":"7"}})";
  const std::pair<const char*, WatchType> types[] = {
      {"ADDED", WatchType::Added}, {"MODIFIED", WatchType::Modified}, {"DELETED", WatchType::Deleted}};
  for (const auto& [text, type] : types) {
    const auto out = decodeWatchLine(5, kPod, lineOf(text, kObject));
    ASSERT_TRUE(std::holds_alternative<WatchEvent>(out));
    const auto& e = std::get<WatchEvent>(out);
    EXPECT_EQ(e.type, type);
    EXPECT_EQ(e.stream, 5U);
    EXPECT_EQ(e.revision, 7U);
    EXPECT_EQ(e.key, (model::ObjectKey{"n", "p"}));
    EXPECT_TRUE(e.object.is<model::Pod>());
  }
}

TEST(DecodeWatchLine, ABookmarkIsARevisionOnly) {
  const auto out =
      decodeWatchLine(5, kPod, lineOf("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"8"}})"));
  ASSERT_TRUE(std::holds_alternative<WatchEvent>(out));
  EXPECT_EQ(std::get<WatchEvent>(out).revision, 8U);
  EXPECT_TRUE(std::get<WatchEvent>(out).object.empty());
}

TEST(DecodeWatchLine, AnErrorEndsTheStreamWithItsCode) {
  const auto out = decodeWatchLine(5, kPod, lineOf("ERROR", statusBody(410, "Expired").c_str()));
  ASSERT_TRUE(std::holds_alternative<WatchEnded>(out));
  EXPECT_EQ(std::get<WatchEnded>(out).http, 410);
  EXPECT_EQ(std::get<WatchEnded>(out).message, "told you");
  EXPECT_EQ(std::get<WatchEnded>(decodeWatchLine(5, kPod, lineOf("ERROR", "{}"))).http, 500);
}

TEST(DecodeWatchLine, ALineThatCannotBeUsedEndsTheStream) {
  for (const std::string& line :
       {std::string{"{"}, std::string{}, std::string{"{}"}, lineOf("NEW", "{}"), lineOf("ADDED", "{}"),
        lineOf("ADDED", R"({"metadata":{"name":"p"}})"),
        lineOf("MODIFIED", R"({"metadata":{"resourceVersion":"7"}})"), lineOf("BOOKMARK", "{}")}) {
    const auto out = decodeWatchLine(5, kPod, line);
    ASSERT_TRUE(std::holds_alternative<WatchEnded>(out)) << line;
    EXPECT_EQ(std::get<WatchEnded>(out).http, 500);
    EXPECT_NE(std::get<WatchEnded>(out).message, "");
    EXPECT_EQ(std::get<WatchEnded>(out).stream, 5U);
  }
}

}  // namespace
}  // namespace gs::kapi
