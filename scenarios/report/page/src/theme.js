// Colours of the charts, as style.css has them for light and dark.
const names = ['page', 'panel', 'text', 'muted', 'line', 'grid', 'gain', 'loss', 'neutral', 'band', 'blue', 'sky', 'orange',
  'vermillion', 'green', 'purple', 'yellow', 'grey', 'quiet', 'on-colour'];

export function theme() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Calls `redraw` when the reader's system goes from light to dark or back. */
export function onThemeChange(redraw) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}
