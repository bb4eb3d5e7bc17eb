package main

import (
	"encoding/json"
	"os"
	"sync"
)

// call is a line of the log.
type call struct {
	Call     string   `json:"call"`
	Strategy string   `json:"strategy,omitempty"`
	Devices  []string `json:"devices,omitempty"`
	Error    string   `json:"error,omitempty"`
}

type journal struct {
	file string
	lock sync.Mutex
}

// write appends a whole line at once, so that a reader sees no half of one.
func (j *journal) write(one call) {
	text, err := json.Marshal(one)
	if err != nil {
		panic(err) // of strings
	}
	j.lock.Lock()
	defer j.lock.Unlock()
	file, err := os.OpenFile(j.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		os.Stderr.WriteString("device-plugin: " + err.Error() + "\n")
		return
	}
	defer file.Close()
	if _, err := file.Write(append(text, '\n')); err != nil {
		os.Stderr.WriteString("device-plugin: " + err.Error() + "\n")
	}
}
