// The schedules of one pattern at one size, the fastest first.
import { byId, choices, element, table } from './dom.js';
import { count, gain, percent, time } from './format.js';

/** The answer of the selected pattern and size; of a pattern without that size, its largest. */
export function selected(content, { pattern, size }) {
  const of = content.exploration.answers.filter((one) => one.pair === pattern);
  return of.find((one) => one.size === size) ?? of.at(-1);
}

function bar(one, longest) {
  const [low, high] = one.interval_us.map((us) => Math.min(100, (100 * us) / longest));
  return element('div', { class: 'bar' }, element('i', { style: { width: `${(100 * one.time_us) / longest}%` } }),
    element('b', { style: { left: `${low}%`, width: `${high - low}%` }, title: '90 % of measurements on other servers' }));
}

const software = (one) => [one.software, one.runnable && 'weft run'].filter(Boolean).join(', ') || 'nothing yet';

function columns(rows) {
  const longest = Math.max(...rows.map((one) => one.interval_us[1]));
  const unlessSerial = (show) => (one) => (one.is_serial ? '–' : show(one));
  return [
    { name: 'schedule', cell: (one) => one.words },
    { name: 'predicted, with 90 % interval', kind: 'time', cell: (one) => element('div', {}, time(one.time_us), bar(one, longest)) },
    { name: 'speedup', number: true, wide: true, cell: (one) => `${one.speedup.toFixed(3)}×` },
    { name: 'faster with', number: true, cell: unlessSerial((one) => percent(one.odds.probability_faster)) },
    { name: 'expected gain', number: true, cell: unlessSerial((one) => gain(one.odds.expected_gain)) },
    { name: 'worst of 20', number: true, wide: true, cell: unlessSerial((one) => gain(one.odds.worst_of_20_gain)) },
    { name: 'limited by', wide: true, cell: (one) => one.limited_by.replace('_', ' ') },
    { name: 'runs today in', wide: true, kind: 'free', cell: software },
  ];
}

export function showRanking(content, selection) {
  const sizes = [...new Set(content.exploration.answers.map((one) => one.size))];
  const buttons = choices(byId('sizes'), sizes, (size) => `${count(size)} ${content.size_word}`, (size) => selection.choose({ size }));
  selection.follow((chosen) => {
    const answer = selected(content, chosen);
    buttons.show(answer.size);
    const more = answer.schedules_left_out > 0 ? ` ${answer.schedules_left_out} slower ones are left out.` : '';
    byId('ranking-caption').textContent = `${answer.pair}, ${count(answer.size)} ${content.size_word}. ▸ is advised.${more} ${answer.verdict}`;
    byId('ranking').replaceChildren(table(columns(answer.schedules), answer.schedules,
      (one) => [one.is_advised && 'advised', one.is_serial && 'serial'].filter(Boolean).join(' '), 'ranking'));
  });
}
