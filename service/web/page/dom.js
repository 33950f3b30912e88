// SPDX-License-Identifier: Apache-2.0
// Building elements. Text is only ever set as text: whatever a log line holds, it stays a text.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

// el('a', {href: '#/'}, 'text', [more, children])
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// columns: [{title, cell: row => child, sort: row => value, number: true}]
export function table(caption, columns, rows, empty) {
  if (rows.length === 0) return el('p', {class: 'empty'}, empty);
  const body = el('tbody');
  const draw = (list) => {
    body.replaceChildren(...list.map((row) => el('tr', null, columns.map((column, i) =>
      el(i === 0 ? 'th' : 'td', {scope: i === 0 ? 'row' : null, class: column.number ? 'number' : null}, column.cell(row))))));
  };
  const heads = columns.map((column) => {
    if (!column.sort) return el('th', {scope: 'col', class: column.number ? 'number' : null}, column.title);
    const head = el('th', {scope: 'col', class: column.number ? 'number' : null});
    head.append(el('button', {type: 'button', class: 'sort', onclick: () => {
      const down = head.getAttribute('aria-sort') !== 'descending';
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      draw([...rows].sort((a, b) => {
        const x = column.sort(a), y = column.sort(b);
        const order = x < y ? -1 : x > y ? 1 : 0;
        return down ? -order : order;
      }));
    }}, column.title));
    return head;
  });
  draw(rows);
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
    el('table', null, el('caption', null, caption), el('thead', null, el('tr', null, heads)), body));
}

export function say(text) {
  document.getElementById('status').textContent = text;
}
