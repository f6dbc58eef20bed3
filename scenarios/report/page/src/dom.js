// Elements of the page. Text of the content only ever becomes text, never markup.
export const byId = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key === 'style') Object.assign(made.style, value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A row of buttons of which one is pressed. `show()` marks the one that is chosen. */
export function choices(parent, values, label, choose) {
  const buttons = values.map((value) => {
    const button = element('button', { type: 'button' }, label(value));
    button.addEventListener('click', () => choose(value));
    return button;
  });
  parent.replaceChildren(...buttons);
  return { show: (chosen) => buttons.forEach((button, i) => button.setAttribute('aria-pressed', values[i] === chosen)) };
}

/** `columns`: [{name, cell(row), number, wide, kind}]; wide ones are left out on a phone, of kind "free" are sentences. */
export function table(columns, rows, classOf = () => '', kind = '') {
  const style = (column) => [column.number && 'number', column.wide && 'wide-only', column.kind].filter(Boolean).join(' ');
  const head = element('tr', {}, ...columns.map((column) => element('th', { class: style(column) }, column.name)));
  const body = rows.map((row) =>
    element('tr', { class: classOf(row) }, ...columns.map((column) => element('td', { class: style(column) }, column.cell(row)))));
  return element('table', { class: `data ${kind}` }, element('thead', {}, head), element('tbody', {}, ...body));
}
