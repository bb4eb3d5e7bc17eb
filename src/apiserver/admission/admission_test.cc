#include "apiserver/admission/admission.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;
using PluginSaid = std::optional<AdmissionResponse>;

/// Notes that it was asked, and says what it is told to.
class Scripted final : public AdmissionPlugin {
 public:
  Scripted(std::string name, std::string& asked) : name_{std::move(name)}, asked_{asked} {}
  std::function<PluginSaid(Value&)> on_mutate = [](Value&) { return AdmissionResponse{}; };
  std::function<PluginSaid(const Value&)> on_validate = [](const Value&) { return AdmissionResponse{}; };

  PluginSaid mutate(const AdmissionRequest&, Value& object) override {
    asked_ += name_ + "-mutates ";
    return on_mutate(object);
  }
  PluginSaid validate(const AdmissionRequest&, const Value& object) override {
    asked_ += name_ + "-validates ";
    return on_validate(object);
  }

 private:
  std::string name_;
  std::string& asked_;
};

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    for (const char* name : {"a", "b", "c"}) {
      auto plugin = std::make_unique<Scripted>(name, asked_);
      plugins_.push_back(plugin.get());
      admission_.add(std::move(plugin));
    }
  }

  [[nodiscard]] AdmissionRequest request(const AdmissionNotes& notes) const {
    return {Operation::Update, *resources_.find("", "configmaps"), "", "d", "m", old_, false, "", {},
            notes.requestId()};
  }
  Done mutate(AdmissionNotes& notes, Value& object) {
    return admission_.mutate(
        notes, request(notes), object,
        [](Value v) -> Answer<Value> {
          if (v["bad"].boolOr(false)) { return plainError("it is bad"); }
          v.set("decoded", true);
          return v;
        },
        warnings_);
  }
  Done validate(AdmissionNotes& notes, const Value& object) {
    return admission_.validate(notes, request(notes), object, warnings_);
  }
  std::string asked() { return std::exchange(asked_, {}); }
  static AdmissionResponse whole(Value object) {
    AdmissionResponse out;
    out.object = std::move(object);
    return out;
  }
  static AdmissionResponse refusal(const char* why) {
    AdmissionResponse out;
    out.refused = ApiError{403, "Forbidden", why, {}, {}, false};
    return out;
  }

  std::string asked_;
  Value old_ = Object{{"data", "old"}};
  std::vector<std::string> warnings_;
  Resources resources_;
  Admission admission_;
  std::vector<Scripted*> plugins_;
};

TEST_F(AdmissionTest, EachSeesWhatThoseBeforeItMade) {
  AdmissionNotes notes;
  plugins_[0]->on_mutate = [](Value& v) {
    v.set("x", "1");
    return AdmissionResponse{};
  };
  plugins_[1]->on_mutate = [](const Value& v) {
    return whole(Object{{"x", std::string{v["x"].str()} + "2"}});
  };
  plugins_[2]->on_mutate = [](const Value& v) {
    EXPECT_EQ(v, (Value{Object{{"x", "12"}, {"decoded", true}}}));
    return AdmissionResponse{};
  };
  Value object = Object{};
  EXPECT_TRUE(mutate(notes, object));
  EXPECT_TRUE(validate(notes, object));
  EXPECT_EQ(asked(), "a-mutates b-mutates c-mutates a-validates b-validates c-validates ");
}

TEST_F(AdmissionTest, TheFirstRefusalEndsItAndWarningsAreKept) {
  AdmissionNotes notes;
  plugins_[0]->on_validate = [](const Value&) {
    AdmissionResponse out;
    out.warnings = {"careful"};
    return out;
  };
  plugins_[1]->on_validate = [](const Value&) { return refusal("no"); };
  const auto done = validate(notes, Object{});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "no");
  EXPECT_EQ(asked(), "a-validates b-validates ");
  EXPECT_EQ(warnings_, std::vector<std::string>{"careful"});
  plugins_[0]->on_mutate = [](Value&) { return refusal("never"); };
  Value object = Object{};
  EXPECT_FALSE(mutate(notes, object));
  EXPECT_EQ(asked(), "a-mutates ");
}

TEST_F(AdmissionTest, AnObjectThatCannotBeDecodedIsThePluginsFault) {
  AdmissionNotes notes;
  plugins_[0]->on_mutate = [](Value&) { return whole(Object{{"bad", true}}); };
  Value object = Object{};
  const auto done = mutate(notes, object);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, 500);
  EXPECT_EQ(done.error().message, "Internal error occurred: it is bad");
}

TEST_F(AdmissionTest, ADeletionHasNoObjectToBeChanged) {
  AdmissionNotes notes;
  plugins_[0]->on_mutate = [](Value&) { return whole(Object{{"bad", true}}); };
  Value none;
  EXPECT_TRUE(mutate(notes, none));
  EXPECT_TRUE(none.isNull());
}

TEST_F(AdmissionTest, WhoCannotWaitIsRefused) {
  AdmissionNotes notes;
  plugins_[1]->on_mutate = [](Value&) { return PluginSaid{}; };
  Value object = Object{};
  const auto done = mutate(notes, object);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, 500);
  EXPECT_FALSE(notes.waits());
}

/// `b` answers late, to mutate() and to validate().
TEST_F(AdmissionTest, ALateAnswerCountsWhenTheRequestBeginsAgain) {
  AdmissionNotes notes{7};
  plugins_[1]->on_mutate = [](Value&) { return PluginSaid{}; };
  plugins_[1]->on_validate = [](const Value&) { return PluginSaid{}; };
  const auto run = [&](Value& object) {
    object = Object{{"data", "new"}};
    return mutate(notes, object) && validate(notes, object);
  };
  Value object;
  EXPECT_FALSE(run(object));
  EXPECT_TRUE(notes.waits());
  EXPECT_EQ(asked(), "a-mutates b-mutates ");
  notes.answer(whole(Object{{"data", "changed"}}));
  EXPECT_FALSE(notes.waits());
  EXPECT_FALSE(run(object));
  EXPECT_TRUE(notes.waits());
  EXPECT_EQ(asked(), "a-mutates c-mutates a-validates b-validates ");
  notes.answer({});
  EXPECT_TRUE(run(object));
  EXPECT_EQ(object["data"].str(), "changed");
  EXPECT_EQ(asked(), "a-mutates c-mutates a-validates c-validates ");
}

TEST_F(AdmissionTest, ALateRefusalIsARefusal) {
  AdmissionNotes notes{7};
  plugins_[2]->on_validate = [](const Value&) { return PluginSaid{}; };
  const Value object = Object{{"data", "new"}};
  EXPECT_FALSE(validate(notes, object));
  notes.answer(refusal("no"));
  const auto done = validate(notes, object);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "no");
  EXPECT_FALSE(notes.waits());
}

TEST_F(AdmissionTest, AnAnswerAboutSomethingElseIsAskedForAnew) {
  AdmissionNotes notes{7};
  plugins_[0]->on_validate = [](const Value&) { return PluginSaid{}; };
  EXPECT_FALSE(validate(notes, Object{{"data", "1"}}));
  notes.answer({});
  EXPECT_FALSE(validate(notes, Object{{"data", "2"}}));
  EXPECT_TRUE(notes.waits());
  notes.answer({});
  EXPECT_TRUE(validate(notes, Object{{"data", "2"}}));
  old_ = Object{{"data", "somebody wrote meanwhile"}};
  EXPECT_FALSE(validate(notes, Object{{"data", "2"}}));
  EXPECT_TRUE(notes.waits());
}

TEST_F(AdmissionTest, AnAnswerToMutatingIsNoneToValidating) {
  AdmissionNotes notes{7};
  plugins_[0]->on_mutate = [](Value&) { return PluginSaid{}; };
  plugins_[0]->on_validate = [](const Value&) { return PluginSaid{}; };
  Value object = Object{{"data", "1"}};
  EXPECT_FALSE(mutate(notes, object));
  notes.answer({});
  EXPECT_TRUE(mutate(notes, object));
  EXPECT_FALSE(validate(notes, object));
  EXPECT_TRUE(notes.waits());
}

}  // namespace
}  // namespace gs::apiserver
