// The parts of the report's page that need no browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escaped, gain, quantity, time } from '../../../scenarios/report/page/src/format.js';
import { endOf, stepsOf, trackRows, underWay, usedStreams, valueAt } from '../../../scenarios/report/page/src/timeline.js';

const track = (name, at_us, values) => ({ name, unit: 'SMs', capacity: 132, at_us, values });
const run = {
  time_us: 20, iteration_parts: 1, streams: ['s0', 'idle', 's1'],
  spans: [[0, 'gemm', 'gemm', 0, 10, '', 'compute'], [2, 'sum', 'collective', 4, 22, '', 'link']], edges: [],
  tracks: [track('SMs busy', [0, 5, 8], [0, 132, 16]), track('SMs held by transfers', [0], [0]), track('copy engines', [0, 3], [0, 0])],
};

test('times change to milliseconds where microseconds have five digits', () => {
  assert.equal(time(812.44), '812.4 µs');
  assert.equal(time(9876.4), '9,876 µs');
  assert.equal(time(14473), '14.47 ms');
});

test('gains have a sign, and nothing has none', () => {
  assert.equal(gain(0.0421), '+4.2 %');
  assert.equal(gain(-0.0421), '−4.2 %');
  assert.equal(gain(0.0004), '0.0 %');
  assert.equal(gain(-0.0004), '0.0 %');
});

test('quantities have their unit', () => assert.equal(quantity(3350.4, 'GB/s'), '3,350 GB/s'));

test('markup of the content becomes text', () => assert.equal(escaped('<b a="1">&\''), '&lt;b a=&quot;1&quot;&gt;&amp;&#39;'));

test('a track has the value of its last point', () => {
  assert.deepEqual([-1, 0, 4.9, 5, 7, 8, 100].map((us) => valueAt(run.tracks[0], us)), [0, 0, 0, 132, 132, 16, 16]);
  assert.equal(valueAt(track('none', [], []), 3), 0);
});

test('the line of a track goes on to the end of its run', () => {
  assert.equal(endOf(run), 22);
  assert.deepEqual(stepsOf(run.tracks[0], 22).at(-1), [22, 16]);
});

test('spans are under way from their start until before their end', () => {
  assert.deepEqual(underWay(run, 10).map((span) => span[1]), ['sum']);
  assert.deepEqual(underWay(run, 4).map((span) => span[1]), ['gemm', 'sum']);
});

test('streams without spans and units that do nothing have no row', () => {
  assert.deepEqual(usedStreams(run), [0, 2]);
  assert.deepEqual(trackRows(run).map((row) => [row.name, row.tracks.length]), [['SMs', 2]]);
});
