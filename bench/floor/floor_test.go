package floor

import (
	"bytes"
	"encoding/binary"
	"os"
	"syscall"
	"testing"
)

// Before the first measured write the file must have its full size and all its blocks. None of the writes may change the size or
// the number of blocks.
func TestWritesGoToAFileThatIsWrittenAlready(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the file has a name: %v, %v", entries, err)
	}
	before := stat(t, d)
	if before.Size != fileSize || before.Blocks*512 < fileSize {
		t.Fatalf("%d bytes in %d blocks", before.Size, before.Blocks)
	}
	const blocks = fileSize / BlockSize
	for range blocks + 2 { // the last two writes are at the start of the file again
		if err := d.Write(); err != nil {
			t.Fatal(err)
		}
	}
	if after := stat(t, d); after.Size != before.Size || after.Blocks != before.Blocks {
		t.Errorf("%d bytes in %d blocks, before %d in %d", after.Size, after.Blocks, before.Size, before.Blocks)
	}
	content := make([]byte, fileSize)
	if _, err := d.file.ReadAt(content, 0); err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		want := uint64(i)
		if i < 2 {
			want += blocks
		}
		block := content[i*BlockSize : (i+1)*BlockSize]
		if got := binary.LittleEndian.Uint64(block); got != want {
			t.Fatalf("block %d has write %d, want %d", i, got, want)
		}
		if bytes.Count(block[8:], []byte{0}) > BlockSize/10 {
			t.Fatalf("block %d is not random", i)
		}
	}
}

func stat(t *testing.T, d *Disk) (s syscall.Stat_t) {
	t.Helper()
	if err := syscall.Fstat(int(d.file.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFileNeedsADirectory(t *testing.T) {
	if _, err := OpenDisk(t.TempDir() + "/none"); err == nil {
		t.Error("no error")
	}
}

func TestRatiosAreOfTheTotals(t *testing.T) {
	rounds := []Round{
		{Payments: Measured{4000, 4}, Echo: Measured{40_000, 1}, Sync: Measured{8000, 0.125}},
		{Payments: Measured{6000, 2}, Echo: Measured{50_000, 1}, Sync: Measured{4000, 0.250}},
		{Payments: Measured{2000, 9}, Echo: Measured{40_000, 1}, Sync: Measured{8000, 0.125}},
		{Payments: Measured{3000, 5}, Echo: Measured{50_000, 1}, Sync: Measured{4000, 0.125}},
	}
	total := Total{
		Round:      Round{Payments: Measured{3900, 4}, Echo: Measured{39_000, 1}, Sync: Measured{6000, 0.125}},
		PaymentCPU: 150e-6, EchoCPU: 10e-6,
	}
	want := Ratios{
		PaymentsPerSync: Ratio{0.65, 0.625, 0.25, 1.5},
		PaymentsPerEcho: Ratio{0.1, 0.08, 0.05, 0.12},
		CPUPerEcho:      15,
		P50PerSync:      Ratio{32, 36, 8, 72},
	}
	got := Compare(total, rounds)
	got.CPUPerEcho = float64(int(got.CPUPerEcho*1000+0.5)) / 1000
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Compare(Total{Round: total.Round}, nil); got.CPUPerEcho != 0 || got.PaymentsPerSync != (Ratio{Value: 0.65}) {
		t.Errorf("without CPU and rounds: %+v", got)
	}
}
