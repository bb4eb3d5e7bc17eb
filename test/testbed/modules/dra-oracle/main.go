// dra-oracle answers as Kubernetes' own packages for dynamic resource allocation do. What of ours is said to do the same is
// compared with it.
//
//	dra-oracle selectors <LINES  for each line of JSON {"expression", "device"} a line {"ok", "error"}
//	dra-oracle allocate <LINES   for each {"slices", "classes", "claims", "taken"} a line {"verdict", "why", "results"}
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

var questions = map[string]func(io.Reader, io.Writer) error{"selectors": selectors, "allocate": allocations}

func main() {
	if len(os.Args) != 2 || questions[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: dra-oracle selectors|allocate <LINES")
		os.Exit(2)
	}
	if err := questions[os.Args[1]](os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "dra-oracle %s: %v\n", os.Args[1], err)
		os.Exit(2)
	}
}

// A line that is no question ends it: the other side is wrong then, and no answer would say so.
func answerLines(in io.Reader, out io.Writer, answer func(line []byte) (any, error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	to := bufio.NewWriter(out)
	encoder := json.NewEncoder(to)
	for n := 1; lines.Scan(); n++ {
		answered, err := answer(lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := encoder.Encode(answered); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return to.Flush()
}
