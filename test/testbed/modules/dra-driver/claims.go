package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// given is a device that a claim has, and for which of its requests.
type given struct {
	Request, Device string
	Shared          bool // with admin access: others may have it too
}

// prepared is a claim that was prepared, and not unprepared since.
type prepared struct {
	Namespace, Name string
	UID             types.UID
	Devices         []given
}

func (p prepared) String() string { return fmt.Sprintf("%s/%s (uid %s)", p.Namespace, p.Name, p.UID) }

func (p prepared) names() []string {
	names := make([]string, 0, len(p.Devices))
	for _, g := range p.Devices {
		names = append(names, g.Device)
	}
	return names
}

// driver is what the kubelet asks. Who has what is in a file too, so that a driver that is started again
// knows it.
type driver struct {
	config
	calls *journal
	file  string

	mutex  sync.Mutex
	claims map[types.UID]prepared
}

func newDriver(c config, calls *journal) (*driver, error) {
	d := &driver{config: c, calls: calls, file: filepath.Join(c.folder(), "checkpoint.json"), claims: map[types.UID]prepared{}}
	text, err := os.ReadFile(d.file)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &d.claims); err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	return d, nil
}

// save is called with the mutex held. The file is always whole.
func (d *driver) save() error {
	text, err := json.MarshalIndent(d.claims, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(d.file+".new", d.file)
}

// PrepareResourceClaims is what the kubelet asks before it starts a pod's first container.
func (d *driver) PrepareResourceClaims(ctx context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		wanted := d.allocated(claim)
		note := func(what, result string) {
			d.calls.write(call{"", what, wanted.Namespace, wanted.Name, wanted.UID, wanted.names(), result})
		}
		outcome, err := d.prepare(ctx, wanted, func() { note("hang", "until told otherwise") })
		if err != nil {
			results[claim.UID] = kubeletplugin.PrepareResult{Err: err}
			outcome = err.Error()
		} else {
			results[claim.UID] = kubeletplugin.PrepareResult{Devices: d.answer(wanted)}
		}
		note("prepare", outcome)
	}
	return results, nil
}

// allocated is what of a claim's allocation is ours. A device of a pool that is not ours keeps the pool in
// its name, by which it is none that we have.
func (d *driver) allocated(claim *resourceapi.ResourceClaim) prepared {
	p := prepared{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.Driver != d.driver {
			continue
		}
		name := r.Device
		if r.Pool != d.node {
			name = r.Pool + "/" + r.Device
		}
		p.Devices = append(p.Devices, given{r.Request, name, r.AdminAccess != nil && *r.AdminAccess})
	}
	return p
}

// prepare says "ok", or "again" if the claim has these devices already.
func (d *driver) prepare(ctx context.Context, wanted prepared, hanging func()) (string, error) {
	if err := d.trouble(ctx, wanted.names(), hanging); err != nil {
		return "", err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if before, ok := d.claims[wanted.UID]; ok {
		if fmt.Sprint(before.Devices) != fmt.Sprint(wanted.Devices) {
			return "", fmt.Errorf("claim %v is prepared with %v, and was not unprepared; now it asks for %v", wanted, before.names(), wanted.names())
		}
		return "again", nil
	}
	for _, g := range wanted.Devices {
		if !d.has(g.Device) {
			return "", fmt.Errorf("%s has no device %s, which is allocated to claim %v", d.node, g.Device, wanted)
		}
		for _, other := range d.claims {
			for _, taken := range other.Devices {
				if taken.Device == g.Device && !taken.Shared && !g.Shared {
					return "", fmt.Errorf("%s is prepared for claim %v, which was not unprepared: not for claim %v", g.Device, other, wanted)
				}
			}
		}
	}
	d.claims[wanted.UID] = wanted
	if err := d.save(); err != nil {
		delete(d.claims, wanted.UID)
		return "", err
	}
	return "ok", nil
}

// has says whether the node has that device, as far as anybody can see.
func (d *driver) has(name string) bool {
	for i := range d.devices {
		if name == deviceName(i) {
			return !d.vanished(name)
		}
	}
	return false
}

func (d *driver) answer(p prepared) []kubeletplugin.Device {
	devices := make([]kubeletplugin.Device, 0, len(p.Devices))
	for _, g := range p.Devices {
		devices = append(devices, kubeletplugin.Device{
			Requests: []string{g.Request}, PoolName: d.node, DeviceName: g.Device, CDIDeviceIDs: []string{cdiKind(d.config) + "=" + g.Device},
		})
	}
	return devices
}

// UnprepareResourceClaims is what the kubelet asks when a pod's last container has ended. The claims may be
// gone.
func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	results := map[types.UID]error{}
	for _, claim := range claims {
		had, known := d.claims[claim.UID]
		outcome := "unknown"
		var err error
		if known {
			outcome = "ok"
			delete(d.claims, claim.UID)
			if err = d.save(); err != nil {
				d.claims[claim.UID] = had
				outcome = err.Error()
			}
		}
		results[claim.UID] = err
		d.calls.write(call{"", "unprepare", claim.Namespace, claim.Name, claim.UID, had.names(), outcome})
	}
	return results, nil
}

// WatchHealthStatus is never called: that service is off.
func (d *driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

// HandleError is told of what fails in the background.
func (d *driver) HandleError(_ context.Context, err error, message string) {
	fmt.Fprintf(os.Stderr, "dra-driver: %s: %v\n", message, err)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		os.Exit(1)
	}
}

// call is one line of the journal.
type call struct {
	Time      string    `json:"time"`
	Call      string    `json:"call"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
	Devices   []string  `json:"devices,omitempty"`
	Result    string    `json:"result"`
}

type journal struct {
	file  string
	mutex sync.Mutex
}

// write appends a line. A driver whose calls nobody can read later is of no use, so it ends where that fails.
func (j *journal) write(c call) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	c.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(c)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(j.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
			_, err = file.Write(append(line, '\n'))
			err = errors.Join(err, file.Close())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dra-driver:", err)
		os.Exit(1)
	}
}
