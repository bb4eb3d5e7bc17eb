// What the contract cases need of Sigstore besides cosign:
//
//	sigstore registry ADDRESS     a registry that has the referrers API, in memory
//	sigstore keyless IMAGE DIR    copies IMAGE into repositories beside it, one for each form in forms.go, and signs each
//	                              as that form says; DIR/trusted_root.json is whom to trust, DIR/other_root.json another
//	                              Sigstore with the same names. Prints "FORM counts" or "FORM does-not" of each, as sigstore-go has it.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("sigstore: ", err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "registry":
		handler := registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0)))
		server := http.Server{Addr: args[1], Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		return server.ListenAndServe()
	case len(args) == 3 && args[0] == "keyless":
		return keyless(args[1], args[2])
	}
	return errors.New("registry ADDRESS | keyless IMAGE DIR")
}

func keyless(image, folder string) error {
	from, err := name.ParseReference(image, name.Insecure)
	if err != nil {
		return err
	}
	ours, err := newSigstore()
	if err != nil {
		return err
	}
	other, err := newSigstore()
	if err != nil {
		return err
	}
	for file, of := range map[string]*sigstore{"trusted_root.json": ours, "other_root.json": other} {
		text, err := of.trustedRoot()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o644); err != nil {
			return err
		}
	}
	for _, one := range forms {
		verdict, err := signAs(ours, other, one, from)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		fmt.Println(one.name, verdict)
	}
	return nil
}
