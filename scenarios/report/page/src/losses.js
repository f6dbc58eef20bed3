// Where the time of each explained schedule goes: bars whose length is time.
import { axisStyle, chartIn, tooltipStyle } from './charts.js';
import { byId, element } from './dom.js';
import { escaped, time } from './format.js';
import { selected } from './ranking.js';

const least_us = 0.05;
const overlap = 'overlap', most_bars = 9;

/** Causes that look alike in one hue have stripes. */
function looks(colours) {
  const stripes = { symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4, color: colours.panel };
  return {
    [overlap]: { color: colours.quiet },
    exposed_ps: { color: colours.vermillion }, sm_sharing_ps: { color: colours.blue }, slowdown_ps: { color: colours.sky },
    transfers_ps: { color: colours.orange }, gemms_ps: { color: colours.purple }, launch_ps: { color: colours.yellow },
    synchronisation_ps: { color: colours.green }, added_kernels_ps: { color: colours.grey }, skew_ps: { color: colours.green, decal: stripes },
    links_ps: { color: colours.orange, decal: stripes }, copy_engines_ps: { color: colours.vermillion, decal: stripes },
    hbm_ps: { color: colours.purple, decal: stripes }, l2_ps: { color: colours.grey, decal: stripes }, power_ps: { color: colours.yellow, decal: stripes },
  };
}

/** In us; a gain shortens the bar of perfect overlap, so that the length stays the time. */
function partsOf({ losses }) {
  const parts = Object.entries(losses.parts).map(([cause, ps]) => [cause, ps * 1e-6]);
  const gained = parts.reduce((sum, [, us]) => sum + Math.min(0, us), 0);
  return [[overlap, losses.perfect_overlap_ps * 1e-6 + gained], ...parts.filter(([, us]) => us >= least_us)];
}

function tip(one, names) {
  const row = (name, us) => `<tr><td>${escaped(name)}</td><td class="number">${time(us)}</td></tr>`;
  const parts = Object.entries(one.losses.parts).map(([cause, ps]) => [names[cause], ps * 1e-6]).filter(([, us]) => Math.abs(us) >= least_us);
  return `<div class="tip"><b>${escaped(one.words)}</b><table>${row('perfect overlap', one.losses.perfect_overlap_ps * 1e-6)}
    ${parts.map(([name, us]) => row(`${us < 0 ? '' : '+ '}${name}`, us)).join('')}${row('= time', one.losses.time_ps * 1e-6)}</table></div>`;
}

function option(rows, causes, names, colours, isNarrow) {
  const look = looks(colours);
  const of = rows.map((one) => Object.fromEntries(partsOf(one)));
  const longest = Math.max(...rows.map((one) => one.losses.time_ps * 1e-6));
  return {
    height: rows.length * 44 + 44,
    grid: { left: 2, right: isNarrow ? 78 : 90, top: 4, bottom: 40 },
    tooltip: { ...tooltipStyle(colours), trigger: 'axis', axisPointer: { type: 'none' }, formatter: ([{ dataIndex }]) => tip(rows[dataIndex], names) },
    xAxis: axisStyle(colours, { type: 'value', min: 0, max: longest, name: 'µs', nameLocation: 'middle', nameGap: 24, splitNumber: isNarrow ? 3 : 6,
      axisLabel: { color: colours.muted, fontSize: 12, hideOverlap: true, showMaxLabel: false } }),
    yAxis: axisStyle(colours, { type: 'category', inverse: true, data: rows.map((one) => one.words), axisLine: { show: false }, z: 5,
      axisLabel: { inside: true, margin: 0, align: 'left', verticalAlign: 'bottom', padding: [0, 0, 9, 0], color: colours.text, fontSize: 12.5,
        overflow: 'truncate', width: isNarrow ? 300 : 700, interval: 0 } }),
    series: [
      ...causes.map((cause) => ({ type: 'bar', stack: 'time', barWidth: 15, barCategoryGap: 0, itemStyle: { borderColor: colours.panel, borderWidth: 0.5, ...look[cause] },
        data: of.map((parts) => ({ value: parts[cause] ?? 0 })), markLine: undefined })),
      { type: 'bar', stack: 'time', barWidth: 15, data: rows.map(() => 0), silent: true,
        label: { show: true, position: 'right', color: colours.text, fontSize: 12, formatter: ({ dataIndex }) => time(rows[dataIndex].losses.time_ps * 1e-6) } },
    ].map((series) => ({ ...series, barGap: '0%' })),
  };
}

function legend(causes, names) {
  return causes.map((cause) => element('li', {}, element('i', { 'data-cause': cause }), cause === overlap ? 'perfect overlap' : names[cause]));
}

export function showLosses(content, selection) {
  const names = content.causes;
  let rows = [], causes = [];
  const choose = (chosen) => {
    const explained = selected(content, chosen).schedules.filter((one) => one.losses);
    rows = explained.filter((one, i) => i < most_bars || one.is_serial);
    const seen = new Set(rows.flatMap((one) => partsOf(one).map(([cause]) => cause)));
    causes = [overlap, ...Object.keys(names)].filter((cause) => seen.has(cause));
  };
  const paintLegend = (colours) => {
    const look = looks(colours);
    byId('losses-legend').replaceChildren(...legend(causes, names));
    for (const swatch of byId('losses-legend').querySelectorAll('i')) {
      const { color, decal } = look[swatch.dataset.cause];
      swatch.style.background = decal ? `repeating-linear-gradient(45deg, ${color} 0 3px, ${colours.panel} 3px 5px)` : color;
    }
  };
  choose(selection);
  const drawn = chartIn(byId('losses'), (colours, isNarrow) => {
    paintLegend(colours);
    return option(rows, causes, names, colours, isNarrow);
  });
  selection.follow((chosen) => {
    choose(chosen);
    drawn.redraw();
  });
}
