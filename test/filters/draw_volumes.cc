#include "test/filters/draw_volumes.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/filters/words.h"

namespace gs::filters {
namespace {

constexpr const char* kDriver = "csi.example.com";
constexpr const char* kCountedDriver = "counted.example.com";  // it says how much there is where
constexpr const char* kLocal = "kubernetes.io/no-provisioner";
// Classes; "now" binds at once.
constexpr std::array kWaiting{"wait", "zonal", "local", "counted"};
constexpr std::array kAnyClass{"wait", "zonal", "local", "counted", "now"};
constexpr std::array kModes{"ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"};
constexpr std::array kMib{1024, 2048, 5120};

json::Object object(const char* version, const char* kind, json::Object meta) {
  return json::Object{{"apiVersion", version}, {"kind", kind}, {"metadata", std::move(meta)}};
}

json::Object zoneIn(Rng& rng) {
  const std::size_t first = rng.below(kZones.size());
  json::Array zones{kZones[first]};
  if (rng.chance(40)) { zones.emplace_back(kZones[(first + 1) % kZones.size()]); }
  return json::Object{{"key", kZone}, {"operator", "In"}, {"values", std::move(zones)}};
}

class VolumeDrawing {
 public:
  VolumeDrawing(Rng& rng, const Scene& scene, json::Object& drawn)
      : rng_{rng}, scene_{scene}, drawn_{drawn} {}

  void draw() {
    addClasses();
    addNodes();
    for (json::Value& pod : drawn_["pods"].array()) {
      if (rng_.chance(45)) { addTo(pod, true); }
    }
    addTo(drawn_["pod"], false);
    for (std::uint64_t n = rng_.below(4); n > 0; --n) { addFreeVolume(); }
    if (has(scene_.fields, Field::Attaching)) { addAttachments(); }
    drawn_.set("persistentvolumes", std::move(volumes_));
    drawn_.set("persistentvolumeclaims", std::move(claims_));
  }

 private:
  void addClasses() {
    json::Array all;
    for (const char* name : kAnyClass) {
      const std::string called = name;
      json::Object one = object("storage.k8s.io/v1", "StorageClass", metaOf("", called));
      one.set("provisioner", called == "local" ? kLocal : called == "counted" ? kCountedDriver : kDriver);
      one.set("reclaimPolicy", "Delete");
      one.set("volumeBindingMode", called == "now" ? "Immediate" : "WaitForFirstConsumer");
      if (called == "zonal") { one.set("allowedTopologies", topologies()); }
      all.push_back(std::move(one));
    }
    drawn_.set("storageclasses", std::move(all));
    json::Array drivers;
    for (const char* name : {kDriver, kCountedDriver}) {
      json::Object one = object("storage.k8s.io/v1", "CSIDriver", metaOf("", name));
      json::Object spec{{"attachRequired", true},
                        {"podInfoOnMount", false},
                        {"volumeLifecycleModes", json::Array{"Persistent"}},
                        {"storageCapacity", name == kCountedDriver},
                        {"fsGroupPolicy", "ReadWriteOnceWithFSType"}};
      const bool missed = rng_.chance(30);
      if (scene_.release == Release::Newest && missed) { spec.set("preventPodSchedulingIfMissing", true); }
      one.set("spec", std::move(spec));
      if (rng_.chance(92)) { drivers.push_back(std::move(one)); }
    }
    drawn_.set("csidrivers", std::move(drivers));
    drawn_.set("csistoragecapacities",
               has(scene_.fields, Field::Provisioning) ? capacities() : json::Array{});
  }

  /// No two are alike: that is refused.
  json::Array topologies() {
    json::Array all;
    for (std::uint64_t n = rng_.chance(70) ? 1 : 2; n > 0; --n) {
      json::Object zone = zoneIn(rng_);
      zone.erase("operator");
      json::Array both{std::move(zone)};
      if (n == 2) {
        both.push_back(json::Object{{"key", "rack"}, {"values", json::Array{oneOf(rng_, kRacks)}}});
      }
      all.push_back(json::Object{{"matchLabelExpressions", std::move(both)}});
    }
    return all;
  }

  json::Array capacities() {
    json::Array all;
    for (std::uint64_t n = rng_.below(5); n > 0; --n) {
      json::Object one =
          object("storage.k8s.io/v1", "CSIStorageCapacity", metaOf("ns-a", fmt::format("capacity-{}", n)));
      one.set("storageClassName", rng_.chance(85) ? "counted" : "wait");
      if (rng_.chance(90)) {
        json::Object where;
        if (rng_.chance(80)) { where.set("matchLabels", json::Object{{kZone, oneOf(rng_, kZones)}}); }
        one.set("nodeTopology", std::move(where));
      }
      constexpr std::array kAmounts{"500Mi", "1040Mi", "3Gi", "6Gi"};
      if (rng_.chance(85)) { one.set("capacity", oneOf(rng_, kAmounts)); }
      if (rng_.chance(25)) { one.set("maximumVolumeSize", oneOf(rng_, kAmounts)); }
      all.push_back(std::move(one));
    }
    return all;
  }

  void addNodes() {
    json::Array all;
    for (std::uint64_t n = 0; n < scene_.nodes; ++n) {
      if (rng_.chance(12)) { continue; }
      json::Array drivers;
      for (const char* name : {kDriver, kCountedDriver}) {
        if (rng_.chance(12)) { continue; }
        json::Object one{
            {"name", name}, {"nodeID", fmt::format("node-{}", n)}, {"topologyKeys", json::Array{kZone}}};
        const std::uint64_t count = rng_.below(4);
        if (has(scene_.fields, Field::Attaching) && rng_.chance(80)) {
          one.set("allocatable", json::Object{{"count", count}});
        }
        drivers.push_back(std::move(one));
      }
      json::Object node = object("storage.k8s.io/v1", "CSINode", metaOf("", fmt::format("node-{}", n)));
      node.set("spec", json::Object{{"drivers", std::move(drivers)}});
      all.push_back(std::move(node));
    }
    drawn_.set("csinodes", std::move(all));
  }

  // --- pods

  void addTo(json::Value& pod, bool bound) {
    json::Array all;
    for (std::uint64_t n = rng_.chance(60) ? 1 : 1 + rng_.below(3), i = 0; i < n; ++i) {
      const std::string name = fmt::format("v{}", i);
      const bool is_ephemeral = rng_.chance(15);
      if (is_ephemeral) {
        all.push_back(json::Object{{"name", name}, {"ephemeral", ephemeral(pod, name, bound)}});
      } else {
        const std::string ns{pod["metadata"]["namespace"].str()};
        all.push_back(json::Object{
            {"name", name}, {"persistentVolumeClaim", json::Object{{"claimName", claimFor(ns, bound)}}}});
      }
    }
    json::Array& volumes = pod.child("spec").child("volumes").array();
    volumes.insert(volumes.end(), all.begin(), all.end());
  }

  std::string claimFor(const std::string& ns, bool bound) {
    std::vector<std::string>& known = bound_claims_[ns];
    if (!known.empty() && rng_.chance(40)) { return known[rng_.below(known.size())]; }
    std::string name = fmt::format("claim-{}", claims_.size());
    if (!bound && rng_.chance(3)) { return name; }  // nobody made it
    json::Value claim = unbound(ns, name);
    if (bound || rng_.chance(40)) {
      bind(claim);
      known.push_back(name);
    }
    claims_.push_back(std::move(claim));
    return name;
  }

  /// A template, and mostly the claim that its controller makes of it.
  json::Object ephemeral(const json::Value& pod, const std::string& volume, bool bound) {
    const std::string ns{pod["metadata"]["namespace"].str()};
    const std::string owner{pod["metadata"]["name"].str()};
    json::Value claim = unbound(ns, owner + "-" + volume);
    claim.child("spec").erase("selector");
    json::Object out{{"volumeClaimTemplate", json::Object{{"spec", claim["spec"]}}}};
    if (!bound && rng_.chance(12)) { return out; }  // not yet
    // kube-scheduler ends in an error where a pod that is bound has no right to its claim.
    if (bound || rng_.chance(93)) {
      claim.child("metadata")
          .set("ownerReferences", json::Array{json::Object{{"apiVersion", "v1"},
                                                           {"kind", "Pod"},
                                                           {"name", owner},
                                                           {"uid", pod["metadata"]["uid"]},
                                                           {"controller", true}}});
    }
    if (bound || rng_.chance(30)) { bind(claim); }
    claims_.push_back(std::move(claim));
    return out;
  }

  // --- claims

  std::string size() { return fmt::format("{}Mi", oneOf(rng_, kMib) + static_cast<int>(sizes_++)); }

  json::Value unbound(const std::string& ns, const std::string& name) {
    json::Object meta = metaOf(ns, name);
    json::Object spec{
        {"accessModes", json::Array{rng_.chance(15) ? "ReadWriteOncePod" : oneOf(rng_, kModes)}},
        {"resources", json::Object{{"requests", json::Object{{"storage", size()}}}}},
        {"volumeMode", rng_.chance(90) ? "Filesystem" : "Block"}};
    if (rng_.chance(97)) {
      spec.set("storageClassName", rng_.chance(92)   ? oneOf(rng_, kWaiting)
                                   : rng_.chance(40) ? "now"
                                   : rng_.chance(50) ? "none"
                                                     : "");
    }
    if (rng_.chance(8)) { spec.set("selector", drawSelector()); }
    if (rng_.chance(7)) {
      meta.set("annotations", json::Object{{"volume.kubernetes.io/selected-node",
                                            fmt::format("node-{}", rng_.below(scene_.nodes))}});
    }
    if (rng_.chance(3)) {
      meta.set("deletionTimestamp", "2026-01-02T00:00:00Z");
      meta.set("deletionGracePeriodSeconds", 0);
      meta.set("finalizers", json::Array{"kubernetes.io/pvc-protection"});
    }
    json::Object out = object("v1", "PersistentVolumeClaim", std::move(meta));
    out.set("spec", std::move(spec));
    out.set("status", json::Object{{"phase", rng_.chance(2) ? "Lost" : "Pending"}});
    return out;
  }

  json::Object drawSelector() {
    return json::Object{{"matchLabels", json::Object{{"kind", rng_.chance(60) ? "a" : "b"}}}};
  }

  /// To a volume of its own, which now and then is gone.
  void bind(json::Value& claim) {
    const std::string name = fmt::format("pv-{}", volumes_.size() + gone_);
    json::Object volume = drawVolume(name, std::string{claim["spec"]["storageClassName"].str()},
                                     std::string{claim["spec"]["resources"]["requests"]["storage"].str()});
    json::Value& spec = volume["spec"];
    spec.set("accessModes", claim["spec"]["accessModes"]);
    spec.set("volumeMode", claim["spec"]["volumeMode"]);
    spec.set("claimRef", refTo(claim, true));
    volume.set("status", json::Object{{"phase", "Bound"}});
    const unsigned half_done = 4;
    if (rng_.chance(half_done)) {  // the claim names it, and its controller has not agreed
      claim.child("spec").set("volumeName", name);
    } else {
      claim.child("spec").set("volumeName", name);
      claim.child("metadata").child("annotations").set("pv.kubernetes.io/bind-completed", "yes");
      claim.set("status", json::Object{{"phase", "Bound"}});
    }
    if (rng_.chance(4)) {
      ++gone_;
    } else {
      volumes_.push_back(std::move(volume));
    }
  }

  static json::Object refTo(const json::Value& claim, bool whole) {
    json::Object out{{"apiVersion", "v1"},
                     {"kind", "PersistentVolumeClaim"},
                     {"namespace", claim["metadata"]["namespace"]},
                     {"name", claim["metadata"]["name"]}};
    if (whole) { out.set("uid", claim["metadata"]["uid"]); }
    return out;
  }

  // --- volumes

  json::Object drawVolume(const std::string& name, const std::string& storage_class,
                          const std::string& amount) {
    json::Object meta = metaOf("", name);
    json::Object labels;
    if (rng_.chance(50)) { labels.set("kind", rng_.chance(60) ? "a" : "b"); }
    if (rng_.chance(25)) {
      const std::string zone = oneOf(rng_, kZones);
      labels.set(rng_.chance(85) ? kZone : "failure-domain.beta.kubernetes.io/zone",
                 rng_.chance(75) ? zone : zone + "__" + oneOf(rng_, kZones));
    }
    if (!labels.empty()) { meta.set("labels", std::move(labels)); }
    const bool local = storage_class == "local";
    json::Object spec{{"capacity", json::Object{{"storage", amount}}},
                      {"accessModes", json::Array{oneOf(rng_, kModes)}},
                      {"persistentVolumeReclaimPolicy", "Delete"},
                      {"volumeMode", "Filesystem"}};
    if (!storage_class.empty()) { spec.set("storageClassName", storage_class); }
    if (local) {
      spec.set("local", json::Object{{"path", "/mnt/disk"}});
    } else {
      const std::size_t other = rng_.below(volumes_.size() + 1);
      const std::string handle = rng_.chance(93) ? name : fmt::format("pv-{}", other);
      spec.set("csi", json::Object{{"driver", storage_class == "counted" ? kCountedDriver : kDriver},
                                   {"volumeHandle", handle}});
    }
    if (local || rng_.chance(45)) {
      spec.set("nodeAffinity", json::Object{{"required", reachableFrom(local)}});
    }
    json::Object out = object("v1", "PersistentVolume", std::move(meta));
    out.set("spec", std::move(spec));
    return out;
  }

  json::Object reachableFrom(bool local) {
    json::Array terms;
    for (std::uint64_t n = rng_.chance(75) ? 1 : 2; n > 0; --n) {
      json::Object one = zoneIn(rng_);
      if (local || rng_.chance(20)) {
        one = json::Object{{"key", kHostname},
                           {"operator", "In"},
                           {"values", json::Array{fmt::format("node-{}", rng_.below(scene_.nodes))}}};
      }
      terms.push_back(json::Object{{"matchExpressions", json::Array{std::move(one)}}});
    }
    return json::Object{{"nodeSelectorTerms", std::move(terms)}};
  }

  /// One that nobody has yet, or that is kept for a claim.
  void addFreeVolume() {
    json::Object volume = drawVolume(fmt::format("pv-{}", volumes_.size() + gone_),
                                     rng_.chance(95) ? oneOf(rng_, kWaiting) : "", size());
    if (rng_.chance(15) && !claims_.empty()) {
      const json::Value& claim = claims_[rng_.below(claims_.size())];
      json::Object ref = refTo(claim, rng_.chance(30));
      // Of two volumes that are kept for one claim kube-scheduler takes either, by the order of a Go map.
      const bool is_first = kept_for_.emplace(claim["metadata"]["uid"].str()).second;
      if (is_first) { volume["spec"].set("claimRef", std::move(ref)); }
    }
    volume.set("status", json::Object{{"phase", "Available"}});
    if (rng_.chance(4)) {
      volume["metadata"].set("deletionTimestamp", "2026-01-02T00:00:00Z");
      volume["metadata"].set("deletionGracePeriodSeconds", 0);
      volume["metadata"].set("finalizers", json::Array{"kubernetes.io/pv-protection"});
    }
    volumes_.push_back(std::move(volume));
  }

  void addAttachments() {
    json::Array all;
    for (std::uint64_t n = volumes_.empty() ? 0 : rng_.below(4); n > 0; --n) {
      const json::Value& volume = volumes_[rng_.below(volumes_.size())];
      if (!volume["spec"]["csi"].isObject()) { continue; }
      json::Object one =
          object("storage.k8s.io/v1", "VolumeAttachment", metaOf("", fmt::format("attachment-{}", n)));
      one.set("spec",
              json::Object{{"attacher", volume["spec"]["csi"]["driver"]},
                           {"nodeName", fmt::format("node-{}", rng_.below(scene_.nodes))},
                           {"source", json::Object{{"persistentVolumeName", volume["metadata"]["name"]}}}});
      one.set("status", json::Object{{"attached", rng_.chance(70)}});
      all.push_back(std::move(one));
    }
    drawn_.set("volumeattachments", std::move(all));
  }

  Rng& rng_;
  const Scene& scene_;
  json::Object& drawn_;
  json::Array volumes_;
  json::Array claims_;
  std::size_t gone_ = 0;
  std::set<std::string> kept_for_;  // uids of claims that have a free volume kept for them
  std::size_t sizes_ = 0;
  std::map<std::string, std::vector<std::string>> bound_claims_;  // by namespace
};

}  // namespace

void addVolumes(Rng& rng, const Scene& scene, json::Object& drawn) {
  const bool any = has(scene.fields, Field::Volumes) || has(scene.fields, Field::Provisioning) ||
                   has(scene.fields, Field::Attaching);
  if (any) { VolumeDrawing{rng, scene, drawn}.draw(); }
}

}  // namespace gs::filters
