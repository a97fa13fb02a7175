package plants_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mizan/bench/plants"
)

func TestOnlyTheBuiltProgramIsChanged(t *testing.T) {
	repository, dir := t.TempDir(), t.TempDir()
	const program = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Print(\"right\") }\n"
	for name, content := range map[string]string{"go.mod": "module example\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(repository, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := plants.Replacement{File: "main.go", Old: "right", New: "wrong"}
	if err := r.Check(repository); err != nil {
		t.Fatal(err)
	}
	flags, err := r.Flags(repository, dir)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("go", append(append([]string{"run"}, flags...), ".")...)
	run.Dir = repository
	if out, err := run.CombinedOutput(); err != nil || string(out) != "wrong" {
		t.Errorf("%v: %s", err, out)
	}
	if content, err := os.ReadFile(filepath.Join(repository, "main.go")); err != nil || string(content) != program {
		t.Errorf("the file was changed: %v, %s", err, content)
	}
}

func TestTextsThatDoNotOccurOnceAreRefused(t *testing.T) {
	for _, c := range []struct {
		r    plants.Replacement
		want string
	}{
		{plants.Replacement{File: "bench/plants/doc.go", Old: "no such text"}, "occurs 0 times"},
		{plants.Replacement{File: "bench/plants/doc.go", Old: "plant"}, "times in"},
		{plants.Replacement{File: "bench/plants/none.go"}, "no such file"},
		{plants.Replacement{Module: "example.com/none", File: "none.go"}, "exit status"},
	} {
		if err := c.r.Check("../.."); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
}

func TestOtherModulesAreChangedInACopy(t *testing.T) {
	r := plants.Replacement{Module: "github.com/hashicorp/raft", File: "commitment.go", Old: "package raft\n", New: "package planted\n"}
	flags, err := r.Flags("../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", append(append([]string{"list"}, flags...), "github.com/hashicorp/raft")...)
	if out, err := vet.CombinedOutput(); err == nil || !strings.Contains(string(out), "planted (commitment.go)") {
		t.Errorf("%v: %s", err, out)
	}
}
