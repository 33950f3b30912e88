// SPDX-License-Identifier: Apache-2.0
// Which nodes are lemons.

import {address, get} from './api.js';
import {link} from './app.js';
import {el, svg, table} from './dom.js';
import {number, time, words} from './words.js';

function spark(trend) {
  const most = Math.max(1, ...trend), width = 72, height = 18;
  const points = trend.map((count, i) => `${(i / (trend.length - 1)) * width},${height - 1 - (count / most) * (height - 2)}`).join(' ');
  return svg('svg', {class: 'spark', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': `times blamed, oldest first: ${trend.join(', ')}`},
    svg('polyline', {points}));
}

// The rate with its interval, on the scale of the table's highest bound.
function interval(node, most) {
  const width = 120, x = (value) => (Math.min(value, most) / most) * width;
  return svg('svg', {class: 'interval', viewBox: `0 0 ${width} 12`, width, height: 12, role: 'img', 'aria-label': `between ${number(node.low, 2)} and ${number(node.high, 2)}`},
    svg('line', {x1: x(node.low), x2: x(node.high), y1: 6, y2: 6}), svg('circle', {cx: x(node.per_1000_hours), cy: 6, r: 3}));
}

function reasons(node) {
  if (node.reasons.length === 0) return '–';
  return el('ul', {class: 'plain'}, node.reasons.map((reason) => el('li', null,
    `${reason.runs} × ${reason.title || words(reason.sub_domain)}`, reason.gpu !== null && ` (GPU ${reason.gpu})`, node.nodes > 1 && ` on ${reason.node}`)));
}

function suspicion(node) {
  if (node.times_fleet >= 3) return el('strong', {class: 'bad'}, `at least ${number(node.times_fleet, 1)} × the fleet`);
  if (node.times_fleet >= 1) return `at least ${number(node.times_fleet, 1)} × the fleet`;
  return 'as the fleet';
}

export async function nodes(here, signal) {
  const parameters = {from: '30d', ...here.parameters};
  const page = await get('nodes', parameters, signal);
  const grouped = parameters.group === 'prefix';
  const most = Math.max(0.001, ...page.nodes.filter((node) => node.blamed > 0).map((node) => node.high));
  const columns = [
    {title: grouped ? 'Group' : 'Node', sort: (node) => node.node, cell: (node) => (grouped ? `${node.node} (${node.nodes})` : el('a', {href: link('runs', {...parameters, group: '', node: node.node})}, node.node))},
    {title: 'Suspicion', sort: (node) => node.times_fleet || 0, cell: suspicion},
    {title: 'Blamed', number: true, sort: (node) => node.blamed, cell: (node) => number(node.blamed)},
    {title: 'Job-hours', number: true, sort: (node) => node.job_hours, cell: (node) => number(node.job_hours)},
    {title: 'Per 1,000 h', number: true, sort: (node) => node.per_1000_hours, cell: (node) => number(node.per_1000_hours, 2)},
    {title: '90 % interval', cell: (node) => interval(node, most)},
    {title: 'Reasons', cell: reasons},
    {title: 'Trend', cell: (node) => spark(node.trend)},
    {title: 'Last good', sort: (node) => node.last_good || '', cell: (node) => time(node.last_good)},
    {title: 'Last blamed', sort: (node) => node.last_bad || '', cell: (node) => time(node.last_bad)},
  ];
  return [
    el('h1', null, grouped ? 'Groups of nodes' : 'Nodes'),
    el('p', null, `${number(page.total)} ${grouped ? 'groups' : 'nodes'}; the fleet fails ${number(page.fleet_per_1000_hours, 2)} times in 1,000 job-hours. The most suspicious first: by what their rate is at least, not by counts.`),
    el('p', {class: 'actions'}, el('a', {href: link('nodes', {...here.parameters, group: grouped ? '' : 'prefix'})}, grouped ? 'Single nodes' : 'Group by name'),
      el('a', {href: address('nodes', {...parameters, format: 'csv', limit: 20000})}, 'CSV'), el('a', {href: address('nodes', parameters)}, 'JSON')),
    table(grouped ? 'Groups' : 'Nodes', columns, page.nodes, 'No node ran a job in this time.'),
  ];
}
