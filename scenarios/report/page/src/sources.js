// Under which conditions the times hold, and where the machine's numbers come from.
import { byId, element, table } from './dom.js';
import { count } from './format.js';

const words = { measured: 'measured', measured_alike: 'measured on a machine alike', public: 'public', assumed: 'assumed' };

export function showSources(content) {
  byId('conditions').replaceChildren(...content.conditions.flatMap(([what, value]) => [element('dt', {}, what), element('dd', {}, value)]));
  const numbers = content.sources.reduce((sum, one) => sum + one.numbers.length, 0);
  byId('sources-summary').textContent = `Sources of ${count(numbers)} numbers of the machine`;
  const some = ({ numbers: names }) => names.slice(0, 4).join(', ') + (names.length > 4 ? ` and ${names.length - 4} more` : '');
  byId('sources').replaceChildren(table([
    { name: 'source', cell: (one) => one.source },
    { name: 'grade', cell: (one) => words[one.grade] },
    { name: 'numbers', wide: true, kind: 'free', cell: some },
  ], content.sources));
}
