package soak

import "math"

// Draw makes the picture of a run's rows. The picture has charts of the rate, the server's CPU time, the latencies, the bytes
// on disk and the memory. Figures that were not measured are left out. Row.Written is not drawn, because it can be several
// times the number of bytes that have reached the device.
func Draw(title, machine string, rows []Row) *Picture {
	p := &Picture{Title: title, Notes: []string{machine}}
	for i := range rows {
		p.Times = append(p.Times, rows[i].End)
	}
	line := func(name string, of func(*Row) float64) Line {
		l := Line{Name: name}
		for i := range rows {
			l.Values = append(l.Values, of(&rows[i]))
		}
		return l
	}
	p.add("payments a second", line("", func(r *Row) float64 { return r.PerSecond }))
	p.add("CPU of the server a payment, µs", line("", func(r *Row) float64 { return valueOf(r.CPU) }))
	p.add("latency, ms", line("p50", func(r *Row) float64 { return r.P50 }), line("p99", func(r *Row) float64 { return r.P99 }))
	p.add("GB", line("on disk", func(r *Row) float64 { return float64(r.Disk) / 1e9 }),
		line("written to the device", func(r *Row) float64 { return bytesOf(r.Device) / 1e9 }))
	p.add("anonymous memory of the server, MB", line("", func(r *Row) float64 { return bytesOf(r.Anon) / 1e6 }))
	return p
}

// add adds a chart of the lines. Lines without any value are left out.
func (p *Picture) add(title string, lines ...Line) {
	c := Chart{Title: title}
	for _, l := range lines {
		for _, v := range l.Values {
			if !math.IsNaN(v) {
				c.Lines = append(c.Lines, l)
				break
			}
		}
	}
	if len(c.Lines) > 0 {
		p.Charts = append(p.Charts, c)
	}
}

func valueOf(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func bytesOf(v *int64) float64 {
	if v == nil {
		return math.NaN()
	}
	return float64(*v)
}
