// argocd is what of Argo CD the contract cases need, in one program: its ApplicationSet controller, and its own answer to what
// a project permits. Argo CD's one program has all its servers too, and takes longer to compile.
//
//	argocd [FLAG...]                             the controller, with its own flags
//	argocd permits PROJECT.json SERVER <OBJECTS  each of OBJECTS (JSON, one after the other) that the project refuses at SERVER
package main

import (
	"fmt"
	"os"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-applicationset-controller/commands"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "permits" {
		if err := permits(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "argocd permits:", err)
			os.Exit(2)
		}
		return
	}
	if err := controller.NewCommand().Execute(); err != nil {
		os.Exit(1)
	}
}
