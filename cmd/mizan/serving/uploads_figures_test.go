package serving

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/internal/picture/picturetest"
	"mizan/internal/testkit"
)

// TestFiguresOfUploads measures the uploads of pictures for docs/benchmarks.md: the time of a request, the processor time that
// the server needs, and the growth of the process's memory. The growth is counted from the size after the start and one small
// upload. A new server is started for each kind of picture.
func TestFiguresOfUploads(t *testing.T) {
	if os.Getenv("MIZAN_FIGURES") == "" {
		t.Skip("MIZAN_FIGURES is not set")
	}
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 9, 9))); err != nil {
		t.Fatal(err)
	}
	const repeated, atOnce = 5, 4
	t.Logf("%-50s %8s %8s %8s %8s %10s", "", "KiB", "median", "CPU", "growth", "4 at once")
	for _, u := range picturetest.Uploads(t) {
		s := testkit.Start(t, testkit.Options{WithoutRaceDetector: true})
		upload(t, s.Partner(), small.Bytes())
		before, times := peakOf(t, s), []time.Duration{}
		cpu := cpuTime(t, s)
		for range repeated {
			began := time.Now()
			upload(t, s.Partner(), u.File)
			times = append(times, time.Since(began))
		}
		cpu = (cpuTime(t, s) - cpu) / repeated
		alone := peakOf(t, s) - before
		done := make(chan struct{})
		for i := range atOnce {
			go func() {
				upload(t, []*testkit.Client{s.Partner(), s.SecondPartner()}[i%2], u.File) // alternately by partners of two organizations
				done <- struct{}{}
			}()
		}
		for range atOnce {
			<-done
		}
		slices.Sort(times)
		t.Logf("%-50s %8d %8v %8v %4d MiB %4d MiB", u.Name, len(u.File)>>10, times[repeated/2].Round(time.Millisecond),
			cpu.Round(time.Millisecond), alone>>20, (peakOf(t, s)-before)>>20)
		s.Kill()
	}
}

func upload(t *testing.T, c *testkit.Client, file []byte) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("image", "picture")
	if err == nil {
		_, err = part.Write(file)
	}
	if err == nil {
		err = form.Close()
	}
	answer, postErr := c.With("content-type", form.FormDataContentType()).Post("/api/v1/images", body.Bytes())
	if err != nil || postErr != nil || answer.Status != 201 {
		t.Errorf("upload: %v %v %+v", err, postErr, answer)
	}
}

// peakOf returns the greatest amount of memory that the server has had, in bytes.
func peakOf(t *testing.T, s *testkit.Server) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// cpuTime returns the processor time that the server has used.
func cpuTime(t *testing.T, s *testkit.Server) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	const user, system, tick = 11, 12, 10 * time.Millisecond // indices of the fields after the program's name, and the unit of these fields
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := time.Duration(0)
	for _, field := range []int{user, system} {
		n, err := strconv.Atoi(fields[field])
		if err != nil {
			t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * tick
}
