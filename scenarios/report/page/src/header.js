// The answer in one sentence, its figures, and the other sentences of the first screen.
import { byId, element } from './dom.js';
import { count, gain, percent, time } from './format.js';

/** [what, value, more] of the largest size at which overlap pays. */
function figures(content) {
  const { verdict } = content.exploration;
  const paying = verdict.sizes.filter((one) => one.best.schedules.length > 0).at(-1);
  const from = verdict.pays_from === null ? 'not at the largest' : `${count(verdict.pays_from)} ${content.size_word}`;
  if (!paying) return [['Overlap pays from', verdict.sizes.length > 1 ? from : 'it does not', '']];
  const { best, baseline } = paying;
  const at = `at ${count(paying.size)} ${content.size_word}`;
  const rows = [
    ['Overlap pays from', from, ''],
    ['Expected gain', gain(best.odds.expected_gain), `${gain(best.odds.worst_of_20_gain)} in the worst of 20, ${at}`],
    ['Odds to be faster', percent(best.odds.probability_faster), at],
    [verdict.of === 'layer' ? 'A layer, predicted' : 'Predicted', time(best.time_us), `instead of ${time(baseline.time_us)}`],
  ];
  if (verdict.of === 'layer')
    rows.push([`Prefill, ${verdict.layers} layers`, time(best.prefill_ms * 1e3), `instead of ${time(baseline.prefill_ms * 1e3)}`]);
  return rows;
}

/** "Odds: 92 %…" with its first word bold. */
function sentence(text) {
  const [start] = text.match(/^[A-Z][^:.]{0,40}:/) ?? [''];
  return element('li', {}, element('b', {}, start), text.slice(start.length));
}

export function showHeader(content) {
  byId('title').textContent = content.title;
  byId('verdict').textContent = content.verdict[0];
  byId('figures').replaceChildren(...figures(content).map(([what, value, more]) =>
    element('div', { class: 'figure' }, element('div', { class: 'what' }, what), element('div', { class: 'value' }, value),
      element('div', { class: 'more' }, more))));
  const { ignored } = content.exploration;
  const sentences = ignored.length > 0 ? [...content.verdict.slice(1), `Not counted: ${ignored.join('; ')}.`] : content.verdict.slice(1);
  byId('sentences').replaceChildren(...sentences.map(sentence));
}
