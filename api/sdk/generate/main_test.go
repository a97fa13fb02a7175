package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestClientsAreUpToDate(t *testing.T) {
	t.Parallel()
	files, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("api/sdk/%s is not what the description gives (%v): run make sdk", name, err)
		}
	}
	if len(files) == 0 {
		t.Error("there are no files")
	}
}
