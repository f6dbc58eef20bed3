// What a run does at a time: pure functions over the runs of the content, which tests load without a browser.

export const SPAN = { stream: 0, operation: 1, kind: 2, start: 3, end: 4, detail: 5, limit: 6 };
export const EDGE = { from: 0, to: 1, fromTime: 2, toTime: 3, what: 4 };

export const endOf = (run) => Math.max(run.time_us * run.iteration_parts, ...run.spans.map((span) => span[SPAN.end]));

/** The value of a track at a time: that of its last point up to then. */
export function valueAt(track, us) {
  let low = 0, high = track.at_us.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    track.at_us[middle] <= us ? low = middle + 1 : high = middle;
  }
  return low === 0 ? 0 : track.values[low - 1];
}

/** Spans that are under way. */
export const underWay = (run, us) => run.spans.filter((span) => span[SPAN.start] <= us && us < span[SPAN.end]);

/** Streams that have spans, in the schedule's order. */
export const usedStreams = (run) => run.streams.map((_, i) => i).filter((i) => run.spans.some((span) => span[SPAN.stream] === i));

/** [[us, value]] for a line with steps; it ends with the run. */
export function stepsOf(track, end) {
  const steps = track.at_us.map((us, i) => [us, track.values[i]]);
  if (steps.length > 0 && steps.at(-1)[0] < end) steps.push([end, steps.at(-1)[1]]);
  return steps;
}

/** Rows of tracks: those of one unit that belong together share a row; what nothing uses has none. */
export function trackRows(run) {
  const named = Object.fromEntries(run.tracks.map((track) => [track.name, track]));
  return [['SMs', ['SMs busy', 'SMs held by transfers']], ['links', ['links out', 'links in']], ['HBM', ['HBM']],
    ['copy engines', ['copy engines']], ['power', ['power']]]
    .map(([name, names]) => ({ name, tracks: names.map((one) => named[one]).filter(Boolean) }))
    .filter(({ tracks }) => tracks.some((track) => track.values.some((value) => value > 0)));
}

/** What an operation is drawn as. */
export function roleOf(kind) {
  if (['gemm', 'grouped_gemm'].includes(kind)) return 'GEMM';
  if (['attention', 'partial_attention'].includes(kind)) return 'attention';
  if (['collective', 'all_reduce_norm', 'grouped_exchange'].includes(kind)) return 'collective';
  if (kind === 'copy') return 'copy';
  if (['signal', 'wait', 'barrier', 'delay'].includes(kind)) return 'synchronisation';
  return 'memory-bound kernel';
}
