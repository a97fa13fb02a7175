package badgerfile

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestCatalogRoundTrip(t *testing.T) {
	c := NewTableChecksums(filepath.Join(t.TempDir(), "TABLES"))
	if got, damaged, err := c.Load(); len(got) != 0 || damaged || err != nil {
		t.Errorf("without a file: %v, %v, %v", got, damaged, err)
	}
	want := map[uint64]Table{3: {ID: 3, Size: 100, Sum: 7}, 1 << 31: {ID: 1 << 31, Size: 1 << 40, Sum: 1<<32 - 1}}
	for _, tables := range []map[uint64]Table{want, {}, want} {
		if err := c.Write(tables); err != nil {
			t.Fatal(err)
		}
		if got, damaged, err := c.Load(); !maps.Equal(got, tables) || damaged || err != nil {
			t.Errorf("Load = %v, %v, %v, want %v", got, damaged, err, tables)
		}
	}
}

func TestEveryFlippedBitOfACatalogIsDetected(t *testing.T) {
	c := NewTableChecksums(filepath.Join(t.TempDir(), "TABLES"))
	if err := c.Write(map[uint64]Table{3: {ID: 3, Size: 100, Sum: 7}}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(c.Path())
	if err != nil {
		t.Fatal(err)
	}
	for at := range content {
		content[at] ^= 1 << (at % 8)
		if err := os.WriteFile(c.Path(), content, 0o600); err != nil {
			t.Fatal(err)
		}
		content[at] ^= 1 << (at % 8)
		if got, damaged, err := c.Load(); len(got) != 0 || !damaged || err != nil {
			t.Fatalf("byte %d flipped: %v, %v, %v", at, got, damaged, err)
		}
	}
}
