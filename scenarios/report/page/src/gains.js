// The gain of overlap over size, with its band and odds; and over size and number of GPUs.
import { axisStyle, chartIn, tooltipStyle } from './charts.js';
import { byId, choices } from './dom.js';
import { count, escaped, gain, percent, time } from './format.js';

function tip(one, sizeWord) {
  const row = (name, value) => `<tr><td>${name}</td><td class="number">${value}</td></tr>`;
  return `<div class="tip"><b>${count(one.size)} ${sizeWord}, ${one.gpus} GPUs</b><br>${escaped(one.schedule)}
    <table>${row('expected gain', gain(one.odds.expected_gain))}
    ${row('worst … best of 20', `${gain(one.odds.worst_of_20_gain)} … ${gain(one.best_of_20_gain)}`)}
    ${row('predicted gain', gain(1 - one.time_us / one.serial_us))}
    ${row('faster with', percent(one.odds.probability_faster))}
    ${row('predicted', time(one.time_us))}${row('serial', time(one.serial_us))}</table>
    <span class="muted">advised: ${one.is_advised ? 'overlap' : 'serial'}</span></div>`;
}

/** Sizes on a scale of powers of two. */
const xOf = (size) => Math.log2(size);

function sizeAxis(sizes, colours, more) {
  const [first, last] = [xOf(sizes[0]), xOf(sizes.at(-1))];
  const room = sizes.length > 1 ? 0.15 : 1;
  return axisStyle(colours, {
    type: 'value', min: first - room, max: last + room, splitLine: { show: false },
    axisLabel: { color: colours.muted, fontSize: 12, customValues: sizes.map(xOf), formatter: (x) => count(Math.round(2 ** x)), hideOverlap: true },
    axisTick: { show: true, customValues: sizes.map(xOf), lineStyle: { color: colours.line } },
    ...more,
  });
}

function band(rows, colours) {
  return {
    type: 'custom', silent: true, z: 1, data: [0],
    renderItem: (params, api) => {
      const point = (one, value) => api.coord([xOf(one.size), 100 * value]);
      const points = [...rows.map((one) => point(one, one.best_of_20_gain)),
        ...[...rows].reverse().map((one) => point(one, one.odds.worst_of_20_gain))];
      return rows.length > 1
        ? { type: 'polygon', shape: { points }, style: { fill: colours.band } }
        : { type: 'line', shape: { x1: points[0][0], y1: points[0][1], x2: points[1][0], y2: points[1][1] }, style: { stroke: colours.band, lineWidth: 14 } };
    },
  };
}

/** Top: shares of serial's time saved. Bottom: probability to be faster. */
function curves(rows, others, content, selection, colours, isNarrow) {
  const sizes = rows.map((one) => one.size);
  const left = isNarrow ? 44 : 58;
  const line = (values, more) => ({ type: 'line', data: values, symbol: 'none', ...more });
  const lowest = Math.min(0, ...rows.map((one) => one.odds.worst_of_20_gain));
  const highest = Math.max(0.02, ...rows.map((one) => one.best_of_20_gain));
  const tens = (share, round) => 5 * round((100 * share) / 5);
  const point = (one) => ({
    value: [xOf(one.size), 100 * one.odds.expected_gain], symbolSize: one.size === selection.size ? 11 : 7,
    itemStyle: { color: one.is_advised ? colours.gain : colours.panel, borderColor: colours.gain, borderWidth: 2 },
  });
  return {
    height: 400,
    grid: [{ left, right: 16, top: 26, height: 210 }, { left, right: 16, top: 280, height: 70 }],
    tooltip: { ...tooltipStyle(colours), trigger: 'axis', axisPointer: { type: 'line', snap: true, label: { show: false } },
      formatter: (parameters) => {
        const x = parameters[0].axisValue ?? parameters[0].value[0];
        return tip(rows.reduce((a, b) => (Math.abs(xOf(b.size) - x) < Math.abs(xOf(a.size) - x) ? b : a)), content.size_word);
      } },
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    xAxis: [sizeAxis(sizes, colours, { gridIndex: 0, axisLabel: { show: false }, axisLine: { show: false } }),
      sizeAxis(sizes, colours, { gridIndex: 1, name: content.size_word, nameLocation: 'middle', nameGap: 26 })],
    yAxis: [
      axisStyle(colours, { gridIndex: 0, name: "gain, % of serial's time", nameLocation: 'end', nameTextStyle: { align: 'left', padding: [0, 0, 0, -left + 4], color: colours.muted },
        axisLine: { show: false }, min: tens(lowest - 0.005, Math.floor), max: tens(highest + 0.005, Math.ceil) }),
      axisStyle(colours, { gridIndex: 1, name: 'faster with, %', nameLocation: 'end', nameTextStyle: { align: 'left', padding: [0, 0, 0, -left + 4], color: colours.muted },
        min: 0, max: 100, interval: 50, axisLine: { show: false } }),
    ],
    series: [
      ...others.map((one) => line(one.map((each) => [xOf(each.size), 100 * each.odds.expected_gain]), { silent: true, z: 0, lineStyle: { color: colours.quiet, width: 1.2 } })),
      band(rows, colours),
      line(rows.map((one) => [xOf(one.size), 100 * (1 - one.time_us / one.serial_us)]), { lineStyle: { color: colours.muted, width: 1.4, type: 'dashed' } }),
      line(rows.map(point), { symbol: 'circle', lineStyle: { color: colours.gain, width: 2.4 }, z: 4,
        markLine: { silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: colours.text, width: 1, type: 'solid' }, data: [{ yAxis: 0 }] } }),
      line(rows.map((one) => [xOf(one.size), 100 * one.odds.probability_faster]), { xAxisIndex: 1, yAxisIndex: 1, lineStyle: { color: colours.gain, width: 2 }, symbol: 'circle', symbolSize: 5, itemStyle: { color: colours.gain },
        markLine: { silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: colours.text, width: 1, type: 'dotted' }, data: [{ yAxis: 50 }] } }),
    ],
  };
}

/** Both ends are as far from no gain, so that its colour is the middle one. */
function heat(rows, content, selection, colours, isNarrow) {
  const sizes = [...new Set(rows.map((one) => one.size))].sort((a, b) => a - b);
  const widths = [...new Set(rows.map((one) => one.gpus))].sort((a, b) => b - a);
  const most = Math.max(0.02, ...rows.map((one) => Math.abs(one.odds.expected_gain)));
  const isDark = (value) => Math.abs(value) > 0.6 * most;
  const label = (one) => `${gain(one.odds.expected_gain, isNarrow ? 0 : 1).replace(' %', isNarrow ? '' : ' %')}${isNarrow ? '' : `\n${percent(one.odds.probability_faster)}`}`;
  return {
    height: widths.length * 46 + 64,
    grid: { left: isNarrow ? 30 : 58, right: 8, top: 8, bottom: 52 },
    tooltip: { ...tooltipStyle(colours), formatter: ({ dataIndex }) => tip(rows[dataIndex], content.size_word) },
    xAxis: axisStyle(colours, { type: 'category', data: sizes.map(isNarrow ? String : count), name: content.size_word, nameLocation: 'middle', nameGap: 28, splitLine: { show: false },
      axisLabel: { color: colours.muted, fontSize: isNarrow ? 10 : 12, interval: 0, rotate: isNarrow && sizes.length > 5 ? 35 : 0 } }),
    yAxis: axisStyle(colours, { type: 'category', data: widths.map((gpus) => `${gpus}${isNarrow ? '' : ' GPUs'}`), splitLine: { show: false } }),
    visualMap: { type: 'continuous', min: -most, max: most, dimension: 2, show: false, inRange: { color: [colours.loss, colours.neutral, colours.gain] } },
    series: [{
      type: 'heatmap', itemStyle: { borderColor: colours.panel, borderWidth: 2 },
      label: { show: true, fontSize: 12, lineHeight: 15 },
      data: rows.map((one) => ({
        value: [sizes.indexOf(one.size), widths.indexOf(one.gpus), one.odds.expected_gain],
        label: { color: isDark(one.odds.expected_gain) ? colours['on-colour'] : colours.text, formatter: () => label(one) },
        itemStyle: one.size === selection.size && one.gpus === content.exploration.gpus ? { borderColor: colours.text, borderWidth: 2 } : {},
      })),
    }],
  };
}

export function showGains(content, selection) {
  const { gpus } = content.exploration;
  const patterns = [...new Set(content.gains.filter((one) => one.gpus === gpus).map((one) => one.pattern))];
  if (patterns.length === 0) return byId('gains').remove();
  let pattern = patterns.includes(selection.pattern) ? selection.pattern : patterns[0];
  const of = (name, width) => content.gains.filter((one) => one.pattern === name && (width === undefined || one.gpus === width));
  const buttons = choices(byId('patterns'), patterns, (name) => name, (name) => {
    pattern = name;
    content.exploration.answers.some((one) => one.pair === name) ? selection.choose({ pattern: name }) : show();
  });
  const drawn = {
    curve: chartIn(byId('curve'), (...theme) => curves(of(pattern, gpus), patterns.filter((one) => one !== pattern).map((one) => of(one, gpus)), content, selection, ...theme)),
    heat: chartIn(byId('heat'), (...theme) => heat(of(pattern), content, selection, ...theme)),
  };
  byId('heat-part').hidden = new Set(content.gains.map((one) => `${one.size} ${one.gpus}`)).size < 2;
  byId('heat-caption').textContent = `Expected gain of the best overlapped schedule, and the odds that it is faster. ${
    content.size_word === 'rows' ? 'The GEMM of each GPU is the same on any number of GPUs.' : ''}`;
  byId('curve-caption').textContent = `${gpus} GPUs. Line: expected gain over serial, filled where overlap is advised; band: from the worst `
    + `to the best of twenty cases, as measurements of such predictions let expect. Dashed: the gain as simulated.${patterns.length > 1 ? ' Thin: the other patterns.' : ''}`;
  const show = () => {
    buttons.show(pattern);
    drawn.curve.redraw();
    drawn.heat.redraw();
  };
  drawn.heat.chart.on('click', ({ dataIndex }) => selection.choose({ size: of(pattern)[dataIndex].size }));
  selection.follow((chosen) => {
    if (patterns.includes(chosen.pattern) && content.exploration.answers.some((one) => one.pair === pattern)) pattern = chosen.pattern;
    show();
  });
}
