package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	makeTarget      = regexp.MustCompile(`(?m)^([a-zA-Z0-9_.-]+):([^=\n].*)?$`)
	makeDescription = regexp.MustCompile(`^.*## \S.*$`)
)

// targetFaults lists the Makefile's targets that have no description, so that `make help` would not show them, and the
// targets that are not declared phony.
func targetFaults(makefile string) (faults []string) {
	_, phony, _ := strings.Cut(makefile, ".PHONY:")
	phony, _, _ = strings.Cut(phony, "\n")
	for _, m := range makeTarget.FindAllStringSubmatch(makefile, -1) {
		name, description := m[1], m[2]
		switch {
		case strings.HasPrefix(name, "."): // a special target of make
		case !makeDescription.MatchString(description):
			faults = append(faults, name+" has no line in make help")
		case !slices.Contains(strings.Fields(phony), name):
			faults = append(faults, name+" is not in .PHONY")
		}
	}
	return faults
}

func TestMakeHelpIsComplete(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range targetFaults(string(content)) {
		t.Error(fault)
	}
}

// The Makefile tests the same nested modules that the rules of this package cover.
func TestNestedModulesAreTested(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if line := "\nMODULES = " + strings.Join(nestedModules, " ") + "\n"; !strings.Contains(string(content), line) {
		t.Errorf("the Makefile has no line %q", line)
	}
	for _, folder := range nestedModules {
		if !isModule(filepath.Join("..", "..", filepath.FromSlash(folder))) {
			t.Errorf("%s is no module", folder)
		}
	}
}

func TestTargetWithoutADescriptionIsFound(t *testing.T) {
	const makefile = ".PHONY: help build\n\nVERSION := $(shell date)\nGO ?= go\n\nhelp: ## show this\n\t@true\n\nbuild: help ## build\n\tgo build\n"
	if faults := targetFaults(makefile); len(faults) != 0 {
		t.Errorf("a sound one: %v", faults)
	}
	for target, want := range map[string]string{
		"bare:\n\ttrue\n":             "bare has no line in make help",
		"needs: build\n\ttrue\n":      "needs has no line in make help",
		"shown: build ## x\n\ttrue\n": "shown is not in .PHONY",
	} {
		if faults := targetFaults(makefile + target); len(faults) != 1 || faults[0] != want {
			t.Errorf("%q: %v, want %q", target, faults, want)
		}
	}
}
