// Lanes of operations and tracks of units, run under run, under one time axis that zooms.
import { axisStyle, chartIn, tooltipStyle } from './charts.js';
import { byId, element } from './dom.js';
import { escaped, quantity, time } from './format.js';
import { EDGE, SPAN, endOf, roleOf, stepsOf, trackRows, underWay, usedStreams, valueAt } from './timeline.js';

const laneHeight = 24, trackHeight = 40, titleHeight = 30, gap = 16, axisHeight = 76, most_edges = 1500;  // px

const lookOf = (colours) => ({
  GEMM: colours.blue, attention: colours.purple, collective: colours.orange, copy: colours.vermillion,
  'memory-bound kernel': colours.green, synchronisation: colours.grey,
});

function titleOf(run) {
  const parts = run.iteration_parts > 1 ? ` a layer, ${run.iteration_parts} in one iteration` : '';
  const rate = run.source === 'predicted' ? `, ${Math.round(run.clock_MHz)} MHz, ${Math.round(run.power_W)} W on average` : '';
  return `${run.schedule}: ${time(run.time_us)}${parts}, ${run.source}${rate}`;
}

/** Rows from top to bottom, each a grid of its own: {run, top, height, streams} or {run, top, height, name, tracks}. */
function layoutOf(runs) {
  const rows = [], titles = [];
  let top = 0;
  for (const run of runs) {
    titles.push({ run, top });
    const streams = usedStreams(run);
    rows.push({ run, top: top + titleHeight, height: streams.length * laneHeight, streams });
    top += titleHeight + streams.length * laneHeight;
    for (const row of trackRows(run)) {
      rows.push({ run, top: top + gap + 4, height: trackHeight, ...row });
      top += gap + 4 + trackHeight;
    }
    top += gap;
  }
  return { rows, titles, height: top };
}

function spansSeries(row, index, look, colours) {
  const rowOf = new Map(row.streams.map((stream, i) => [stream, i]));
  return {
    type: 'custom', xAxisIndex: index, yAxisIndex: index, clip: true, silent: true, encode: { x: [0, 1], y: 2 },
    data: row.run.spans.map((span) => [span[SPAN.start], span[SPAN.end], rowOf.get(span[SPAN.stream])]),
    renderItem: (params, api) => {
      const span = row.run.spans[params.dataIndex];
      const [left, middle] = api.coord([api.value(0), api.value(2)]);
      const [right] = api.coord([api.value(1), api.value(2)]);
      const { x, width } = params.coordSys;
      const from = Math.max(left, x), until = Math.min(right, x + width);
      if (until < x || from > x + width) return undefined;
      const shape = { x: from, y: middle - laneHeight / 2 + 2, width: Math.max(until - from, 0.8), height: laneHeight - 4 };
      const text = shape.width > 34 ? span[SPAN.operation] : '';
      return { type: 'rect', shape, style: { fill: look[roleOf(span[SPAN.kind])], stroke: colours.panel, lineWidth: shape.width > 3 ? 0.8 : 0 },
        textContent: { style: { text, fill: colours['on-colour'], fontSize: 11, width: shape.width - 6, overflow: 'truncate', ellipsis: '…' } },
        textConfig: { position: 'inside' } };
    },
  };
}

/** From what was waited for to what waited, where they are on different streams. */
function edgesSeries(row, index, colours) {
  const rowOf = new Map(row.streams.map((stream, i) => [stream, i]));
  const of = (edge, end) => rowOf.get(row.run.spans[edge[end]][SPAN.stream]);
  const edges = row.run.edges.filter((edge) => of(edge, EDGE.from) !== of(edge, EDGE.to)).slice(0, most_edges);
  return {
    type: 'custom', xAxisIndex: index, yAxisIndex: index, clip: true, silent: true, z: 5, encode: { x: [0, 2], y: [1, 3] },
    data: edges.map((edge) => [edge[EDGE.fromTime], of(edge, EDGE.from), edge[EDGE.toTime], of(edge, EDGE.to)]),
    renderItem: (params, api) => {
      const [x1, fromMiddle] = api.coord([api.value(0), api.value(1)]);
      const [x2, toMiddle] = api.coord([api.value(2), api.value(3)]);
      const down = toMiddle > fromMiddle ? 1 : -1;
      const y1 = fromMiddle + down * (laneHeight / 2 - 3), y2 = toMiddle - down * (laneHeight / 2 - 2);
      const line = { type: 'polyline', shape: { points: [[x1, y1], [x2, y2]] }, style: { stroke: colours.text, lineWidth: 1, opacity: 0.75, fill: 'none' } };
      const head = { type: 'polygon', shape: { points: [[x2, y2], [x2 - 2.6, y2 - down * 5], [x2 + 2.6, y2 - down * 5]] }, style: { fill: colours.text, opacity: 0.85 } };
      return { type: 'group', children: [line, head] };
    },
  };
}

/** Of two tracks in a row the first is filled lightly, the second darkly or a line. */
function trackSeries(row, index, colours) {
  const colour = { SMs: [colours.sky, colours.orange], links: [colours.orange, colours.vermillion], HBM: [colours.green], 'copy engines': [colours.vermillion], power: [colours.purple] }[row.name];
  return row.tracks.map((track, i) => ({
    type: 'line', name: track.name, xAxisIndex: index, yAxisIndex: index, step: 'end', symbol: 'none', silent: true,
    data: stepsOf(track, endOf(row.run)), lineStyle: { width: row.name === 'links' && i === 1 ? 1.2 : 0.8, color: colour[i], type: row.name === 'links' && i === 1 ? 'dashed' : 'solid' },
    areaStyle: row.name === 'links' && i === 1 ? undefined : { color: colour[i], opacity: i === 1 ? 0.9 : 0.45, origin: 'start' },
  }));
}

/** "SMs busy ■, held by transfers ■, of 132 SMs" above a track. */
function trackTitle(row) {
  const [{ unit, capacity }] = row.tracks;
  const what = { SMs: 'SMs busy (blue), held by transfers (orange)', links: 'links out (filled), in (dashed)', HBM: 'HBM', 'copy engines': 'copy engines busy', power: 'power' }[row.name];
  return `${what}${capacity > 0 ? `, of ${quantity(capacity, unit)}` : `, ${unit}`}`;
}

const topOf = (row) => {
  const most = Math.max(...row.tracks.flatMap((track) => [track.capacity, ...track.values]));
  return most > 0 ? most : 1;
};

function tip(row, us) {
  const { run } = row;
  const spans = underWay(run, us).map((span) => `<tr><td>${escaped(run.streams[span[SPAN.stream]])}</td><td><b>${escaped(span[SPAN.operation])}</b>
    <span class="muted">${time(span[SPAN.end] - span[SPAN.start])}${run.source === 'predicted' ? `, ${span[SPAN.limit].replace('_', ' ')}` : ''}</span></td></tr>`);
  const tracks = trackRows(run).flatMap(({ tracks: all }) => all)
    .map((track) => `<tr><td>${escaped(track.name)}</td><td>${quantity(valueAt(track, us), track.unit)}</td></tr>`);
  return `<div class="tip"><b>${time(us)}</b> <span class="muted">${escaped(run.schedule)}, ${run.source}</span><table>${spans.slice(0, 10).join('')}${tracks.join('')}</table></div>`;
}

function option(runs, { rows, titles, height }, withArrows, zoom, colours, isNarrow) {
  const look = lookOf(colours), end = Math.max(...runs.map(endOf));
  const left = isNarrow ? 40 : 64, right = isNarrow ? 8 : 14;
  const axes = rows.map((_, i) => i);
  const label = (row) => (row.streams ? row.streams.map((i) => row.run.streams[i]) : undefined);
  const isLast = (i) => i === rows.length - 1;
  const xAxis = axes.map((i) => axisStyle(colours, { gridIndex: i, type: 'value', min: 0, max: end, splitNumber: isNarrow ? 4 : 8,
    axisLine: { show: false }, axisLabel: { show: isLast(i), color: colours.muted, fontSize: 12, hideOverlap: true, showMaxLabel: false },
    name: isLast(i) ? 'µs' : '', nameLocation: 'middle', nameGap: 24, axisPointer: { show: true, type: 'line', snap: false, label: { show: false } } }));
  const yAxis = rows.map((row, i) => (row.streams
    ? axisStyle(colours, { gridIndex: i, type: 'category', inverse: true, data: label(row), axisLine: { show: false }, splitLine: { show: false },
      axisPointer: { show: false }, axisLabel: { color: colours.muted, fontSize: 11.5, interval: 0, width: left - 10, overflow: 'truncate' } })
    : axisStyle(colours, { gridIndex: i, type: 'value', min: 0, max: topOf(row), interval: topOf(row), axisLine: { show: false }, axisPointer: { show: false },
      name: trackTitle(row), nameLocation: 'end', nameGap: 4, nameTextStyle: { align: 'left', color: colours.muted, fontSize: 11.5 },
      axisLabel: { color: colours.muted, fontSize: 11, formatter: (value) => Math.round(value).toLocaleString('en-US') } })));
  return {
    height: height + axisHeight,

    grid: rows.map((row) => ({ left, right, top: row.top, height: row.height, show: Boolean(row.streams), backgroundColor: colours.page, borderColor: colours.grid })),
    graphic: titles.map(({ run, top }) => ({ type: 'text', left: 0, top: top + 6, style: { text: titleOf(run), fill: colours.text, font: `600 13px ${getComputedStyle(document.body).fontFamily}`, width: byId('lanes').clientWidth, overflow: 'truncate' } })),
    axisPointer: { link: [{ xAxisIndex: 'all' }], lineStyle: { color: colours.text, width: 1, type: 'solid', opacity: 0.5 } },
    tooltip: { ...tooltipStyle(colours), trigger: 'axis', triggerOn: 'mousemove|click', formatter: (parameters) => {
      const [{ axisIndex, axisValue }] = [].concat(parameters);
      return tip(rows[axisIndex ?? 0], axisValue);
    } },
    dataZoom: [
      { type: 'inside', xAxisIndex: axes, filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, preventDefaultMouseMove: false, ...zoom },
      { type: 'slider', xAxisIndex: axes, filterMode: 'none', left, right, bottom: 6, height: 22, brushSelect: false, showDataShadow: false, borderColor: colours.line,
        backgroundColor: colours.grid, fillerColor: colours.band, handleStyle: { color: colours.panel, borderColor: colours.muted }, moveHandleStyle: { color: colours.quiet },
        textStyle: { color: colours.muted, fontSize: 11 }, labelFormatter: (value) => time(value), ...zoom },
    ],
    xAxis, yAxis,
    series: rows.flatMap((row, i) => (row.streams ? [spansSeries(row, i, look, colours), ...(withArrows ? [edgesSeries(row, i, colours)] : [])] : trackSeries(row, i, colours))),
  };
}

function legend(runs, colours) {
  const look = lookOf(colours);
  const roles = new Set(runs.flatMap((run) => run.spans.map((span) => roleOf(span[SPAN.kind]))));
  byId('lanes-legend').replaceChildren(...Object.keys(look).filter((role) => roles.has(role)).map((role) =>
    element('li', {}, element('i', { style: { background: look[role] } }), role)));
}

/** In percent. Of an iteration of several equal parts, such as layers, one from the middle. */
function firstZoom(runs) {
  const parts = Math.max(...runs.map((run) => run.iteration_parts));
  if (parts < 2) return { start: 0, end: 100 };
  const share = 100 / parts, start = Math.floor((parts - 1) / 2) * share;
  return { start, end: start + share };
}

export function showLanes(content) {
  const { runs } = content;
  const leading = content.exploration.answers[content.leading];
  const layout = layoutOf(runs), zoom = firstZoom(runs);
  byId('lanes-caption').textContent = `GPU 0, one iteration of ${leading.pair}, ${leading.size} ${content.size_word}: the schedule predicted fastest, and serial, `
    + 'under one time axis. Drag to move, hold Ctrl and turn the wheel or pinch to zoom.';
  const drawn = chartIn(byId('lanes'), (colours, isNarrow) => {
    legend(runs, colours);
    return option(runs, layout, byId('arrows').checked, zoom, colours, isNarrow);
  });
  drawn.chart.on('datazoom', () => Object.assign(zoom, (({ start, end }) => ({ start, end }))(drawn.chart.getOption().dataZoom[0])));
  const zoomBy = (factor) => {
    const middle = (zoom.start + zoom.end) / 2, half = Math.min(50, ((zoom.end - zoom.start) / 2) * factor);
    const start = Math.min(Math.max(0, middle - half), 100 - 2 * half);
    drawn.chart.dispatchAction({ type: 'dataZoom', start, end: start + 2 * half });
  };
  byId('zoom-in').addEventListener('click', () => zoomBy(0.5));
  byId('zoom-out').addEventListener('click', () => zoomBy(2));
  byId('zoom-all').addEventListener('click', () => zoomBy(Infinity));
  byId('arrows').addEventListener('change', drawn.redraw);
}
