// SPDX-License-Identifier: Apache-2.0
// The timeline as a picture: a lane a node (or rank), time from left to right. Shapes tell roles apart as well
// as colours do.

import {el, svg} from './dom.js';
import {time} from './words.js';

const LANE = 26, LEFT = 150, WIDTH = 900, TOP = 24;
const MAX_LANES = 60;

const SHAPES = {
  root: (x, y) => svg('path', {d: `M${x} ${y - 8}L${x + 8} ${y}L${x} ${y + 8}L${x - 8} ${y}Z`}),
  cascade: (x, y) => svg('circle', {cx: x, cy: y, r: 5}),
  confirmation: (x, y) => svg('rect', {x: x - 5, y: y - 5, width: 10, height: 10}),
  teardown: (x, y) => svg('path', {d: `M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x + 5} ${y - 5}L${x - 5} ${y + 5}`}),
};
const shape = (role) => SHAPES[role] || ((x, y) => svg('circle', {cx: x, cy: y, r: 3}));

function lanesOf(items, byRank) {
  const name = (item) => (byRank && item.rank !== null && item.rank !== undefined ? `rank ${item.rank}` : item.node || 'the job');
  const first = new Map();
  items.forEach((item) => { if (!first.has(name(item))) first.set(name(item), item); });
  // The root's lane on top, the others as they join in.
  const lanes = [...first.keys()].sort((a, b) => (first.get(b).role === 'root') - (first.get(a).role === 'root') || Date.parse(first.get(a).time) - Date.parse(first.get(b).time));
  return {lanes: lanes.slice(0, MAX_LANES), hidden: Math.max(0, lanes.length - MAX_LANES), name};
}

function offsetText(ms) {
  const seconds = ms / 1000;
  return Math.abs(seconds) >= 120 ? `${(seconds / 60).toFixed(1)} min` : `${seconds.toFixed(Math.abs(seconds) < 10 ? 2 : 0)} s`;
}

export class Timeline {
  // select(index): called with the place of an item in result.timeline.
  constructor(result, select) {
    this.items = result.timeline.map((item, index) => ({...item, index})).filter((item) => item.time);
    this.origin = Date.parse(result.root_cause?.time || this.items[0]?.time);
    this.select = select;
    this.byRank = false;
    this.reset();
    this.box = el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Timeline'});
  }

  reset() {
    const times = this.items.map((item) => Date.parse(item.time));
    const from = Math.min(...times), to = Math.max(...times), margin = Math.max(500, (to - from) * 0.05);
    this.from = from - margin;
    this.to = to + margin;
  }

  zoom(factor, at = this.origin) {
    const middle = Math.min(this.to, Math.max(this.from, at));
    this.from = middle - (middle - this.from) * factor;
    this.to = middle + (this.to - middle) * factor;
    this.draw();
  }

  shift(share) {
    const by = (this.to - this.from) * share;
    this.from += by;
    this.to += by;
    this.draw();
  }

  x(ms) { return LEFT + ((ms - this.from) / (this.to - this.from)) * (WIDTH - LEFT - 12); }

  mark(item, y) {
    const x = this.x(Date.parse(item.time));
    if (x < LEFT || x > WIDTH) return null;
    const mark = shape(item.role)(x, y);
    mark.setAttribute('class', `mark ${item.role}${item.mark ? ' marked' : ''}`);
    mark.setAttribute('tabindex', 0);
    mark.setAttribute('role', 'button');
    mark.setAttribute('aria-label', `${item.role}, ${item.node || ''} ${time(item.time)}: ${item.text}`);
    mark.append(svg('title', null, `${item.role}${item.mark ? ` (${item.mark})` : ''}\n${time(item.time)} UTC\n${item.text}`));
    const choose = () => this.select(item.index);
    mark.addEventListener('click', choose);
    mark.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(); } });
    return mark;
  }

  axis(height) {
    const ticks = [];
    for (let i = 0; i <= 6; ++i) {
      const ms = this.from + ((this.to - this.from) * i) / 6, x = this.x(ms);
      ticks.push(svg('line', {class: 'grid', x1: x, x2: x, y1: TOP - 4, y2: height}), svg('text', {class: 'tick', x, y: 12, 'text-anchor': i === 6 ? 'end' : 'middle'}, `${ms >= this.origin ? '+' : ''}${offsetText(ms - this.origin)}`));
    }
    return ticks;
  }

  draw() {
    const {lanes, hidden, name} = lanesOf(this.items, this.byRank);
    const height = TOP + lanes.length * LANE + 8;
    const picture = svg('svg', {class: 'timeline', viewBox: `0 0 ${WIDTH} ${height}`, role: 'group', 'aria-label': 'Events by node over time, from the root cause on'}, this.axis(height));
    lanes.forEach((lane, i) => {
      const y = TOP + i * LANE + LANE / 2;
      picture.append(svg('line', {class: 'lane', x1: LEFT, x2: WIDTH, y1: y, y2: y}), svg('text', {class: 'label', x: 4, y: y + 4}, lane.length > 20 ? `${lane.slice(0, 19)}…` : lane));
      this.items.filter((item) => name(item) === lane).forEach((item) => { const mark = this.mark(item, y); if (mark) picture.append(mark); });
    });
    picture.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return;  // a plain wheel scrolls the page
      event.preventDefault();
      const box = picture.getBoundingClientRect();
      const at = this.from + (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 12) * (this.to - this.from);
      this.zoom(event.deltaY < 0 ? 0.7 : 1.4, at);
    }, {passive: false});
    this.box.replaceChildren(picture, hidden > 0 ? el('p', null, `${hidden} more lanes are in the table below.`) : '');
  }

  // The picture with its buttons.
  element() {
    if (this.items.length === 0) return el('p', {class: 'empty'}, 'No event has a time.');
    this.draw();
    const button = (title, act) => el('button', {type: 'button', onclick: () => { act(); }}, title);
    return el('section', {class: 'card'}, el('h2', null, 'Timeline'),
      el('p', {class: 'actions'}, button('Zoom in', () => this.zoom(0.5)), button('Zoom out', () => this.zoom(2)), button('Earlier', () => this.shift(-0.3)), button('Later', () => this.shift(0.3)),
        button('All', () => { this.reset(); this.draw(); }), button('Nodes or ranks', () => { this.byRank = !this.byRank; this.draw(); })),
      this.box, el('p', {class: 'legend'}, 'Time since the root cause. ◆ root   ● follows from it   ■ confirms it   ✕ teardown   pale: does not count'));
  }
}
