// filter-oracle answers whether and why not a pod fits on nodes as kube-scheduler itself does: by the filters of its default
// profile, over a cluster that is given to it. What of ours is said to do the same is compared with it (test/filters).
//
//	filter-oracle [-valid] [-feature-gates GATES] <LINES   for each line of JSON (see case.go) a line {"feasible", "nodes", "prefilter"}
//	filter-oracle [-valid] [-feature-gates GATES] FILE...  the same of one case: objects as YAML; the pod without a node is asked about
//
// go.mod makes it of the oldest release that is served, newest.mod (with -tags newest) of the newest one that can be compiled.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"k8s.io/apiserver/pkg/util/feature"
)

func main() {
	gates := flag.String("feature-gates", "", "as kube-scheduler's, NAME=true|false,...")
	valid := flag.Bool("valid", false, "end where an API server would not hold the objects as they are")
	flag.Parse()
	if err := run(*gates, *valid, flag.Args(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "filter-oracle: %v\n", err)
		os.Exit(2)
	}
}

func run(gates string, valid bool, files []string, in io.Reader, out io.Writer) error {
	if err := feature.DefaultMutableFeatureGate.Set(gates); err != nil {
		return err
	}
	debug.SetGCPercent(400) // each case is small, and garbage when it is answered
	asked, err := newOracle()
	if err != nil {
		return err
	}
	defer asked.close()
	answer := asked.answer
	if valid {
		answer = asked.answerValid
	}
	if len(files) == 0 {
		return answerLines(in, out, answer)
	}
	question, err := readFiles(files)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answer(question))
}

type decoded struct {
	question *question
	err      error
}

// Most of the time goes into reading, so lines are read ahead, and the answers are given in their order. A line that is no case
// ends it: the other side is wrong then, and no answer would say so. Whoever waits for an answer before it asks again gets it.
func answerLines(in io.Reader, out io.Writer, answer func(*question) answer) error {
	queue := make(chan chan decoded, 64)
	go func() {
		defer close(queue)
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<24)
		read := func(from func() (*question, error)) {
			one := make(chan decoded, 1)
			queue <- one
			go func() {
				question, err := from()
				one <- decoded{question, err}
			}()
		}
		for lines.Scan() {
			line := bytes.Clone(lines.Bytes())
			read(func() (*question, error) { return readLine(line) })
		}
		if err := lines.Err(); err != nil {
			read(func() (*question, error) { return nil, err })
		}
	}()
	to := bufio.NewWriter(out)
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	for n := 1; ; n++ {
		if len(queue) == 0 {
			if err := to.Flush(); err != nil {
				return err
			}
		}
		next, more := <-queue
		if !more {
			return to.Flush()
		}
		one := <-next
		if one.err != nil {
			return fmt.Errorf("line %d: %w", n, one.err)
		}
		if err := encoder.Encode(answer(one.question)); err != nil {
			return err
		}
	}
}
