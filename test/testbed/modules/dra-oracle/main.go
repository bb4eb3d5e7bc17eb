// dra-oracle answers as Kubernetes' own packages for dynamic resource allocation do. What of ours is said to do the same is
// compared with it.
//
//	dra-oracle selectors <LINES  for each line of JSON {"expression", "device"} a line {"ok", "error"}
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] != "selectors" {
		fmt.Fprintln(os.Stderr, "usage: dra-oracle selectors <LINES")
		os.Exit(2)
	}
	if err := selectors(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dra-oracle selectors:", err)
		os.Exit(2)
	}
}
