// Numbers as people read them. No module of ours stands below this one, so that tests load it without a browser.

function fixed(value, decimals) {
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace('-', '−');
}

/** 812.4 µs; 12.35 ms from 10,000 µs on. */
export function time(us) {
  return Math.abs(us) < 1e4 ? `${fixed(us, Math.abs(us) < 1e3 ? 1 : 0)} µs` : `${fixed(us / 1e3, Math.abs(us) < 1e5 ? 2 : 1)} ms`;
}

/** "+4.2 %" of a share. */
export function gain(share, decimals = 1) {
  const text = fixed(100 * share, decimals);
  return `${/[1-9]/.test(text) && share > 0 ? '+' : ''}${/[1-9]/.test(text) ? text : text.replace('−', '')} %`;
}

export const percent = (share, decimals = 0) => `${fixed(100 * share, decimals)} %`;
export const count = (value) => String(value);  // as the rest of weft prints sizes
export const quantity = (value, unit) => `${fixed(value, value < 100 && unit === 'GB/s' ? 1 : 0)} ${unit}`;

export function escaped(text) {
  return String(text).replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]);
}
