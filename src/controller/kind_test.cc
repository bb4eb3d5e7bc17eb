// Kinds are open: two that this file alone knows, listed, watched and decoded like those of kapi/kinds.h.
#include "kapi/kind.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "controller/reflector.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "kapi/write.h"

namespace gs::controller {
namespace {

struct Widget {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::int64_t size = 0;
  friend bool operator==(const Widget&, const Widget&) = default;
};

Widget decodeWidget(const json::View& v) {
  return {kapi::objectKey(v), kapi::uidField(v), kapi::objectRevision(v),
          kapi::bounded(v["spec"]["size"], 100)};
}

constexpr kapi::KindInfo kWidgetInfo{
    "example.com", "v1alpha1", "widgets", "Widget", true, kapi::decodedBy<decodeWidget>, true};
constexpr kapi::Kind kWidget{kWidgetInfo};

/// What somebody else than the quotas reads of a ConfigMap.
struct Greeting {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::string text;
  friend bool operator==(const Greeting&, const Greeting&) = default;
};

Greeting decodeGreeting(const json::View& v) {
  return {kapi::objectKey(v), kapi::uidField(v), kapi::objectRevision(v), kapi::text(v["data"]["greeting"])};
}

constexpr kapi::KindInfo kGreetingInfo{"",          "v1", "configmaps",
                                       "ConfigMap", true, kapi::decodedBy<decodeGreeting>};
constexpr kapi::Kind kGreeting{kGreetingInfo};

/// Reads one kind as one type; `sizes` is what a component would make of it.
class Widgets {
 public:
  Widgets() { take(reflector_.start({})); }
  void listed(std::string_view body) {
    take(reflector_.handle(kapi::decodeAnswer(list_, 200, body, {}), Now{}));
  }
  void watched(const std::string& line) {
    const auto event = kapi::decodeWatchLine(watch_.stream, watch_.kind, line);
    take(reflector_.handle(std::get<kapi::WatchEvent>(event), Now{}));
  }

  [[nodiscard]] std::string listsAt() const { return kapi::target(list_); }
  [[nodiscard]] std::string watchesAt() const { return kapi::target(watch_); }
  std::map<std::string, std::int64_t> sizes;

 private:
  void take(const Reflector::Output& out) {
    for (const kapi::Effect& effect : out.effects) {
      if (const auto* call = std::get_if<kapi::Call>(&effect)) { list_ = *call; }
      if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) { watch_ = *watch; }
    }
    for (const Change& change : out.changes) {
      EXPECT_EQ(change.kind, kWidget);
      if (const auto widget = change.object.as<Widget>()) {
        sizes[change.key.text()] = widget->size;
      } else {
        sizes.erase(change.key.text());
      }
    }
  }

  Reflector reflector_{{kWidget, 1, "", {}, false, 500}, Rng{1}};
  kapi::Call list_;
  kapi::OpenWatch watch_;
};

TEST(Kind, OfATestIsListedWatchedAndDecoded) {
  Widgets widgets;
  EXPECT_TRUE(widgets.listsAt().starts_with("/apis/example.com/v1alpha1/widgets?")) << widgets.listsAt();
  widgets.listed(R"({"kind":"WidgetList","metadata":{"resourceVersion":"7"},"items":[
    {"metadata":{"namespace":"ns","name":"a","uid":"ua","resourceVersion":"3"},"spec":{"size":5}},
    {"metadata":{"namespace":"ns","name":"b","uid":"ub","resourceVersion":"4"},"spec":{"size":6}}]})");
  EXPECT_EQ(widgets.sizes, (std::map<std::string, std::int64_t>{{"ns/a", 5}, {"ns/b", 6}}));
  EXPECT_TRUE(widgets.watchesAt().starts_with("/apis/example.com/v1alpha1/widgets?watch=true&"))
      << widgets.watchesAt();
  widgets.watched(R"({"type":"MODIFIED","object":{"kind":"Widget","metadata":
    {"namespace":"ns","name":"a","uid":"ua","resourceVersion":"8"},"spec":{"size":9}}})");
  widgets.watched(R"({"type":"DELETED","object":{"kind":"Widget","metadata":
    {"namespace":"ns","name":"b","uid":"ub","resourceVersion":"9"},"spec":{"size":6}}})");
  EXPECT_EQ(widgets.sizes, (std::map<std::string, std::int64_t>{{"ns/a", 9}}));
}

TEST(Kind, OfATestIsRead) {
  const kapi::Call get = kapi::getObject(kWidget, {"ns", "a"});
  EXPECT_EQ(kapi::target(get), "/apis/example.com/v1alpha1/namespaces/ns/widgets/a");
  EXPECT_EQ(kapi::apiVersion(kWidget), "example.com/v1alpha1");
  const kapi::Outcome read =
      kapi::decodeAnswer(get, 200, R"({"kind":"Widget","metadata":{"name":"a"},"spec":{"size":4}})", {});
  ASSERT_TRUE(read.object.is<Widget>());
  EXPECT_EQ(read.object.as<Widget>()->size, 4);
  EXPECT_TRUE(kapi::decodeAnswer(get, 200, R"({"kind":"Pod","metadata":{"name":"a"}})", {}).object.empty());
}

TEST(Kind, HasAsManyReadersAsWantOtherThingsOfIt) {
  constexpr std::string_view kLine = R"({"type":"ADDED","object":{"kind":"ConfigMap","metadata":
    {"namespace":"ns","name":"c","uid":"u","resourceVersion":"8"},"data":{"greeting":"hello"}}})";
  const auto objectOf = [&](kapi::Kind kind) {
    return std::get<kapi::WatchEvent>(kapi::decodeWatchLine(1, kind, kLine)).object;
  };
  EXPECT_TRUE(objectOf(kapi::kQuotaMap).is<model::QuotaMap>());
  ASSERT_TRUE(objectOf(kGreeting).is<Greeting>());
  EXPECT_EQ(objectOf(kGreeting).as<Greeting>()->text, "hello");
  EXPECT_EQ(objectOf(kGreeting).as<model::QuotaMap>(), nullptr) << "it is not what somebody else reads";
  EXPECT_EQ(kapi::target(kapi::getObject(kapi::kQuotaMap, {"ns", "c"})),
            kapi::target(kapi::getObject(kGreeting, {"ns", "c"})));
  EXPECT_FALSE(kapi::kQuotaMap == kGreeting);
  EXPECT_EQ((std::set<kapi::Kind>{kapi::kQuotaMap, kGreeting, kGreeting}.size()), 2U);
}

TEST(Kind, SortsByPluralWhateverItsAddress) {
  std::string names;
  for (const kapi::Kind kind :
       std::set<kapi::Kind>{kWidget, kapi::kPod, kapi::kLease, kapi::kNode, kapi::kCrd, kapi::kPod}) {
    names += std::string{kind->plural} + " ";
  }
  EXPECT_EQ(names, "customresourcedefinitions leases nodes pods widgets ");
  EXPECT_TRUE(kapi::Kind{} < kapi::kPod);
  EXPECT_FALSE(kapi::kPod < kapi::Kind{} || kapi::Kind{} < kapi::Kind{} || kapi::kPod < kapi::kPod);
}

TEST(Kind, OfNothingStopsTheProgram) {
  const kapi::Kind none;
  EXPECT_DEATH(static_cast<void>(none->plural), "no kind was given");
}

TEST(Kind, ApiVersion) {
  EXPECT_EQ(kapi::apiVersion(kapi::kPod), "v1");
  EXPECT_EQ(kapi::apiVersion(kapi::kLease), "coordination.k8s.io/v1");
}

TEST(Object, IsEqualToAnEqualValueOfItsType) {
  const auto widget = [](std::int64_t size) {
    return model::Object{std::make_shared<const Widget>(Widget{{"ns", "a"}, model::Uid{"u"}, 3, size})};
  };
  EXPECT_TRUE(widget(1) == widget(1));
  EXPECT_FALSE(widget(1) == widget(2));
  EXPECT_FALSE(widget(1) == model::Object{});
  EXPECT_TRUE(model::Object{} == model::Object{});
  const model::Object other{std::make_shared<const Greeting>(Greeting{{"ns", "a"}, model::Uid{"u"}, 3, ""})};
  EXPECT_FALSE(widget(1) == other);
  EXPECT_EQ(widget(1).key(), other.key());
  EXPECT_EQ(widget(1).uid(), other.uid());
  EXPECT_EQ(widget(1).revision(), 3U);
}

}  // namespace
}  // namespace gs::controller
