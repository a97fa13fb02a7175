// Draws what a table of days has, above it. The table is then folded.
"use strict";
(() => {
  const lang = document.documentElement.lang;
  for (const box of document.querySelectorAll(".chart")) {
    const days = box.nextElementSibling;
    const rows = [...days.querySelectorAll("tr[data-at]")].reverse();
    const times = rows.map((row) => Number(row.dataset.at));
    const values = rows.map((row) => Number(row.dataset.value));
    if (rows.length < 2 || rows.some((row) => row.dataset.value === "")) continue;
    const style = getComputedStyle(document.body);
    const color = (name) => style.getPropertyValue(name).trim();
    const amount = new Intl.NumberFormat(lang + "-u-nu-latn", { notation: "compact" });
    const day = new Intl.DateTimeFormat(lang + "-u-nu-latn", { day: "numeric", month: "short", timeZone: "UTC" });
    box.hidden = days.open = false;
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", box.dataset.label);
    box.dir = "ltr";
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
    const width = () => Math.max(200, box.clientWidth - 24);
    const chart = new uPlot({
      width: width(), height: 220, legend: { show: false }, cursor: { show: false }, tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "UTC"),
      scales: { x: { time: true }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
      axes: [
        { ...axis, values: (u, ticks) => ticks.map((t) => day.format(new Date(t * 1000))), space: 70 },
        { ...axis, values: (u, ticks) => ticks.map((n) => amount.format(n)), size: 70 },
      ],
      series: [{}, { label: box.dataset.label, stroke: color("--accent"), fill: color("--accent"), paths: uPlot.paths.bars({ size: [0.7, 40] }), points: { show: false } }],
    }, [times, values], box);
    new ResizeObserver(() => chart.setSize({ width: width(), height: 220 })).observe(box);
  }
})();
