package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Files in the folder --control, looked at on each call, and five times a second for what is published:
//
//	fail               prepare answers an error: what the file says
//	hang               prepare waits until the file is gone
//	slow               prepare takes as many seconds as the file says
//	deny-DEVICE        prepare answers an error for claims that have this device
//	vanish-DEVICE      the node has this device no longer
//	taint-DEVICE       the device has a taint, whose effect the file says: NoSchedule or NoExecute
//	generation         the pool is published anew, in two slices: says the file 2, both; else the first only,
//	                   and the generation of before stays. Without the file it is one slice again, a newer one
const glance = 200 * time.Millisecond

// says is what a file of the folder holds, and whether there is one.
func (c config) says(name string) (string, bool) {
	if c.faults == "" {
		return "", false
	}
	text, err := os.ReadFile(filepath.Join(c.faults, name))
	return strings.TrimSpace(string(text)), err == nil
}

func (c config) vanished(device string) bool {
	_, gone := c.says("vanish-" + device)
	return gone
}

// trouble is what keeps a claim with these devices from being prepared. `hanging` is told when it begins to hang.
func (c config) trouble(ctx context.Context, devices []string, hanging func()) error {
	pause := func(how time.Duration) error {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the kubelet waits no longer: %w", ctx.Err())
		case <-time.After(how):
			return nil
		}
	}
	if text, ok := c.says("slow"); ok {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("the file slow: %w", err)
		}
		if err := pause(time.Duration(seconds * float64(time.Second))); err != nil {
			return err
		}
	}
	for told := false; ; told = true {
		if _, hangs := c.says("hang"); !hangs {
			break
		}
		if !told {
			hanging()
		}
		if err := pause(glance); err != nil {
			return err
		}
	}
	if text, ok := c.says("fail"); ok {
		return errors.New("told to fail: " + text)
	}
	for _, device := range devices {
		if _, ok := c.says("deny-" + device); ok {
			return errors.New("told to deny " + device)
		}
	}
	return nil
}
