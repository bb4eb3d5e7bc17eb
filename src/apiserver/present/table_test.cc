#include "apiserver/present/table.h"

#include <gtest/gtest.h>

#include "apiserver/present/age.h"
#include "apiserver/present/jsonpath.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

Value read(std::string_view text) {
  auto v = json::parse(text);
  EXPECT_TRUE(v) << text;
  return v.value_or(Value{});
}

const Wall kNow = *kapi::parseTime("2025-06-15T12:00:00Z");

struct FindCase {
  const char* path;
  const char* found;  // JSON array, or "" for a path that is refused
};
class JsonPathFinds : public testing::TestWithParam<FindCase> {};
TEST_P(JsonPathFinds, What) {
  const Value object = read(
      R"({"a":{"b":1,"x.y/z":"l"},"l":[{"t":"Ready","s":"True"},{"t":"Other","s":"no"}],"n":["p","q"]})");
  const auto path = JsonPath::compile(GetParam().path);
  ASSERT_EQ(path.has_value(), std::string_view{GetParam().found} != "");
  if (!path) { return; }
  json::Array found;
  for (const Value* v : path->find(object)) { found.push_back(*v); }
  EXPECT_EQ(json::print(Value{found}), GetParam().found);
}
INSTANTIATE_TEST_SUITE_P(Table, JsonPathFinds,
                         testing::Values(FindCase{".a.b", "[1]"}, FindCase{"{.a.b}", "[1]"},
                                         FindCase{".a.x\\.y/z", "[\"l\"]"},
                                         FindCase{".a['x.y/z']", "[\"l\"]"}, FindCase{".n[0]", "[\"p\"]"},
                                         FindCase{".n[-1]", "[\"q\"]"}, FindCase{".n[*]", "[\"p\",\"q\"]"},
                                         FindCase{".n[9]", "[]"}, FindCase{".nope.x", "[]"},
                                         FindCase{".l[?(@.t==\"Ready\")].s", "[\"True\"]"},
                                         FindCase{".l[?(@.t!=\"Ready\")].s", "[\"no\"]"}, FindCase{"..b", ""},
                                         FindCase{".a[", ""}, FindCase{".l[?(@.t)]", ""}, FindCase{"a", ""},
                                         FindCase{".",
                                                  "[{\"a\":{\"b\":1,\"x.y/"
                                                  "z\":\"l\"},\"l\":[{\"t\":\"Ready\",\"s\":\"True\"},{\"t\":"
                                                  "\"Other\",\"s\":\"no\"}],\"n\":[\"p\",\"q\"]}]"}));

struct AgeCase {
  long seconds;
  const char* text;
};
class Ages : public testing::TestWithParam<AgeCase> {};
TEST_P(Ages, AsTheServerWritesThem) {
  EXPECT_EQ(ageText(std::chrono::seconds{GetParam().seconds}), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(Table, Ages,
                         testing::Values(AgeCase{0, "0s"}, AgeCase{119, "119s"}, AgeCase{120, "2m"},
                                         AgeCase{133, "2m13s"}, AgeCase{600, "10m"}, AgeCase{10799, "179m"},
                                         AgeCase{10800, "3h"}, AgeCase{11100, "3h5m"}, AgeCase{28800, "8h"},
                                         AgeCase{172799, "47h"}, AgeCase{172800, "2d"},
                                         AgeCase{190000, "2d4h"}, AgeCase{691200, "8d"},
                                         AgeCase{63072000, "2y"}, AgeCase{63158400, "2y1d"},
                                         AgeCase{-10, "<invalid>"}));

/// STATUS and READY and RESTARTS of a pod with this status.
struct PodCase {
  const char* name;
  const char* status;
  const char* cells;  // READY STATUS RESTARTS
};
class PodCells : public testing::TestWithParam<PodCase> {};
TEST_P(PodCells, Say) {
  Value pod = read(R"({"metadata":{"name":"p","creationTimestamp":"2025-06-15T11:59:58Z"},)"
                   R"("spec":{"containers":[{"name":"a"},{"name":"b"}]}})");
  pod.set("status", read(GetParam().status));
  const auto cells = podCells(pod, kNow);
  ASSERT_EQ(cells.size(), 9U);
  EXPECT_EQ(
      std::string{cells[1].str()} + " " + std::string{cells[2].str()} + " " + std::string{cells[3].str()},
      GetParam().cells);
  EXPECT_EQ(cells[4].str(), "2s");
}
INSTANTIATE_TEST_SUITE_P(
    Table, PodCells,
    testing::Values(
        PodCase{"New", R"({"phase":"Pending"})", "0/2 Pending 0"},
        PodCase{"Gated",
                R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",)"
                R"("reason":"SchedulingGated"}]})",
                "0/2 SchedulingGated 0"},
        PodCase{"Runs",
                R"({"phase":"Running","containerStatuses":[{"ready":true,"restartCount":0,)"
                R"("state":{"running":{}}},{"ready":true,"restartCount":0,"state":{"running":{}}}]})",
                "2/2 Running 0"},
        PodCase{"Crashes",
                R"({"phase":"Running","containerStatuses":[{"ready":false,"restartCount":3,)"
                R"("state":{"waiting":{"reason":"CrashLoopBackOff"}},)"
                R"("lastState":{"terminated":{"finishedAt":"2025-06-15T11:46:00Z"}}}]})",
                "0/2 CrashLoopBackOff 3 (14m ago)"},
        PodCase{"Completed",
                R"({"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"exitCode":0,)"
                R"("reason":"Completed"}}}]})",
                "0/2 Completed 0"},
        PodCase{"Failed",
                R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]})",
                "0/2 ExitCode:3 0"},
        PodCase{"Evicted", R"({"phase":"Failed","reason":"Evicted"})", "0/2 Evicted 0"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Table, OfACustomResourceHasItsColumns) {
  Resource r;
  r.group = "gpu.scheduling";
  r.plural = "gpuclaims";
  r.kind = "GpuClaim";
  r.custom = true;
  r.columns = read(
      R"([{"name":"Req","type":"integer","jsonPath":".spec.devices.count"},{"name":"Policy","type":"string",
       "jsonPath":".spec.devices.policy"},
                       {"name":"Topology","type":"string","jsonPath":".spec.topology.mode"},
                       {"name":"Allocated","type":"string","jsonPath":".status.allocated"},
                       {"name":"Wide","type":"string","jsonPath":".spec.devices","priority":1}])");
  const Value single =
      read(R"({"metadata":{"name":"single-gpu","namespace":"default"},"spec":{"devices":{"count":1,)"
           R"("policy":"contiguous"}},"status":{"allocated":"node-a:0"}})");
  const Value multi = read(
      R"({"metadata":{"name":"multi-gpu","namespace":"ml"},"spec":{"devices":{"count":4,)"
      R"("policy":"contiguous"},"topology":{"mode":"Preferred"}},"status":{"allocated":"node-b:0,1,2,3"}})");
  const Value table = makeTable(r, {&single, &multi}, Object{{"resourceVersion", "7"}}, kNow);
  EXPECT_EQ(printTable(table),
            "NAME         REQ   POLICY       TOPOLOGY    ALLOCATED\n"
            "single-gpu   1     contiguous               node-a:0\n"
            "multi-gpu    4     contiguous   Preferred   node-b:0,1,2,3\n");
  EXPECT_EQ(printTable(table, {.wide = false, .namespaces = true, .headers = false}),
            "default   single-gpu   1     contiguous               node-a:0\n"
            "ml        multi-gpu    4     contiguous   Preferred   node-b:0,1,2,3\n");
  EXPECT_NE(printTable(table, {.wide = true}).find("WIDE\n"), std::string::npos);
  EXPECT_EQ(table["rows"].at(0)["object"]["kind"].str(), "PartialObjectMetadata");
}

TEST(Table, OfStorageHasItsColumns) {
  const Resources resources;
  const auto shown = [&](const char* id, const char* text) {
    const Value object = read(text);
    return printTable(makeTable(*resources.stored(id), {&object}, Object{}, kNow));
  };
  EXPECT_EQ(shown("storage.k8s.io/storageclasses",
                  R"({"metadata":{"name":"s","creationTimestamp":"2025-06-15T11:59:58Z","annotations":)"
                  R"({"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"x",)"
                  R"("reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})"),
            "NAME          PROVISIONER   RECLAIMPOLICY   VOLUMEBINDINGMODE   ALLOWVOLUMEEXPANSION   AGE\n"
            "s (default)   x             Delete          Immediate           false                  2s\n");
  EXPECT_EQ(shown("storage.k8s.io/csinodes",
                  R"({"metadata":{"name":"n","creationTimestamp":"2025-06-15T11:59:58Z"},)"
                  R"("spec":{"drivers":[{"name":"d"}]}})"),
            "NAME   DRIVERS   AGE\nn      1         2s\n");
  EXPECT_EQ(
      shown("storage.k8s.io/csidrivers",
            R"({"metadata":{"name":"d","creationTimestamp":"2025-06-15T11:59:58Z"},"spec":)"
            R"({"volumeLifecycleModes":["Persistent","Ephemeral"]}})"),
      "NAME   ATTACHREQUIRED   PODINFOONMOUNT   STORAGECAPACITY   TOKENREQUESTS   REQUIRESREPUBLISH   MODES "
      "                 AGE\n"
      "d      true             false            false             <unset>         false               "
      "Persistent,Ephemeral   2s\n");
  EXPECT_EQ(shown("storage.k8s.io/csistoragecapacities",
                  R"({"metadata":{"name":"c"},"storageClassName":"s","capacity":"1Gi"})"),
            "NAME   STORAGECLASSNAME   CAPACITY\nc      s                  1Gi\n");
  EXPECT_EQ(shown("storage.k8s.io/volumeattachments",
                  R"({"metadata":{"name":"a","creationTimestamp":"2025-06-15T11:59:58Z"},"spec":{"attacher":)"
                  R"("d","nodeName":"n","source":{"persistentVolumeName":"v"}},"status":{"attached":true}})"),
            "NAME   ATTACHER   PV    NODE   ATTACHED   AGE\na      d          v     n      true       2s\n");
}

TEST(Table, WithoutRowsSaysNothing) {
  Resource r;
  r.plural = "pods";
  EXPECT_EQ(printTable(makeTable(r, {}, Object{}, kNow)), "");
  EXPECT_EQ(noResources(r, "default"), "No resources found in default namespace.\n");
  EXPECT_EQ(noResources(r, ""), "No resources found\n");
}

TEST(Table, EventsOfBothFormsHaveTheSameCells) {
  const Value core = read(
      R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p"},"reason":"Scheduled",
       "message":" m\n","type":"Normal",
                              "eventTime":"2025-06-15T11:59:00.000001Z","reportingComponent":"s",
                              "reportingInstance":"s-0","firstTimestamp":null,"lastTimestamp":null,
                              "source":{}})");
  const Value regarding = read(
      R"({"metadata":{"name":"e"},"regarding":{"kind":"Pod","name":"p"},"reason":"Scheduled","note":" m\n",
       "type":"Normal",
                              "eventTime":"2025-06-15T11:59:00.000001Z","reportingController":"s",
                              "reportingInstance":"s-0","deprecatedFirstTimestamp":null,
                              "deprecatedSource":{}})");
  EXPECT_EQ(eventCells(core, kNow), eventCells(regarding, kNow));
  EXPECT_EQ(json::print(Value{eventCells(core, kNow)}),
            R"(["59s","Normal","Scheduled","pod/p","","s, s-0","m","59s",1,"e"])");
}

/// STATUS, COMPLETIONS and DURATION of a job.
struct JobCase {
  const char* name;
  const char* spec;
  const char* status;
  const char* cells;
};
class JobCells : public testing::TestWithParam<JobCase> {};
TEST_P(JobCells, Say) {
  Resource r;
  r.group = "batch";
  r.plural = "jobs";
  Value job = read(R"({"metadata":{"name":"j","creationTimestamp":"2025-06-15T11:58:00Z"}})");
  job.set("spec", read(GetParam().spec));
  job.set("status", read(GetParam().status));
  const auto cells = cellsOf(r, job, kNow);
  ASSERT_EQ(cells.size(), columnsOf(r).size());
  EXPECT_EQ(
      std::string{cells[1].str()} + "|" + std::string{cells[2].str()} + "|" + std::string{cells[3].str()},
      GetParam().cells);
}
INSTANTIATE_TEST_SUITE_P(
    Table, JobCells,
    testing::Values(
        JobCase{"New", R"({"completions":1})", "{}", "Running|0/1|"},
        JobCase{"Runs", R"({"completions":3})", R"({"startTime":"2025-06-15T11:58:30Z","succeeded":2})",
                "Running|2/3|90s"},
        JobCase{"WorkQueue", R"({"parallelism":4})", R"({"succeeded":1})", "Running|1/1 of 4|"},
        JobCase{"OneWorker", R"({"parallelism":1})", "{}", "Running|0/1|"},
        JobCase{
            "Complete", R"({"completions":1})",
            R"({"startTime":"2025-06-15T11:00:00Z","completionTime":"2025-06-15T11:00:05Z","succeeded":1,)"
            R"("conditions":[{"type":"Complete","status":"True"}]})",
            "Complete|1/1|5s"},
        JobCase{
            "Failed", R"({"completions":1})",
            R"({"startTime":"2025-06-15T11:59:00Z","conditions":[{"type":"FailureTarget","status":"True"},)"
            R"({"type":"Failed","status":"True"}]})",
            "Failed|0/1|60s"},
        JobCase{"Fails", R"({"completions":1})",
                R"({"conditions":[{"type":"FailureTarget","status":"True"}]})", "FailureTarget|0/1|"},
        JobCase{"Suspended", R"({"completions":1})",
                R"({"conditions":[{"type":"Suspended","status":"True"}]})", "Suspended|0/1|"},
        JobCase{"Resumed", R"({"completions":1})",
                R"({"conditions":[{"type":"Suspended","status":"False"}]})", "Running|0/1|"}),
    [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
}  // namespace gs::apiserver
