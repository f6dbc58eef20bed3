// The simulated run beside the measured one, operation by operation.
import { byId, table } from './dom.js';
import { gain, time } from './format.js';

const error = (pair) => (pair.error === null ? '–' : gain(pair.error));

export function showComparison(content) {
  const { comparison } = content;
  if (!comparison) return byId('comparison-part').remove();
  const { iteration } = comparison;
  byId('comparison-caption').textContent = `One iteration: predicted ${time(iteration.predicted_us)}, measured ${time(iteration.measured_us)} `
    + `(${error(iteration)}). Starts and durations are means over the GPUs; an error is predicted over measured, less one.`;
  byId('comparison').replaceChildren(table([
    { name: 'operation', cell: (one) => one.operation },
    { name: 'starts, predicted', number: true, wide: true, cell: (one) => time(one.start.predicted_us) },
    { name: 'measured', number: true, wide: true, cell: (one) => time(one.start.measured_us) },
    { name: 'lasts, predicted', number: true, cell: (one) => time(one.duration.predicted_us) },
    { name: 'measured', number: true, cell: (one) => time(one.duration.measured_us) },
    { name: 'error', number: true, cell: (one) => error(one.duration) },
  ], comparison.operations));
}
