// SPDX-License-Identifier: Apache-2.0
// What broke, at a glance.

import {get} from './api.js';
import {link} from './app.js';
import {stacked} from './bars.js';
import {el, table} from './dom.js';
import {duration, number, percent, words} from './words.js';

function figure(title, value, note) {
  return el('div', {class: 'figure'}, el('dt', null, title), el('dd', null, value, note && el('small', null, note)));
}

function queueFigure(queue) {
  if (!queue) return null;
  const age = queue.oldest ? `, oldest ${duration((Date.now() - Date.parse(queue.oldest)) / 1000)}` : '';
  return figure('Verdicts waiting', number(queue.waiting), `${number(queue.dead)} given up${age}`);
}

function causes(here, totals) {
  const rows = Object.entries(totals.by_sub_domain).map(([name, sum]) => ({name, ...sum})).sort((a, b) => b.runs - a.runs);
  return table('What jobs that did not complete ended by', [
    {title: 'Cause', cell: (row) => el('a', {href: link('runs', {...here.parameters, sub_domain: row.name})}, words(row.name)), sort: (row) => row.name},
    {title: 'Jobs', number: true, cell: (row) => number(row.runs), sort: (row) => row.runs},
    {title: 'Node-hours', number: true, cell: (row) => number(row.node_hours, 1), sort: (row) => row.node_hours},
    {title: 'GPU-hours', number: true, cell: (row) => number(row.gpu_hours, 1), sort: (row) => row.gpu_hours},
  ], rows, 'No job failed in this time.');
}

export async function overview(here, signal) {
  const page = await get('overview', {from: '7d', ...here.parameters}, signal);
  const totals = page.totals;
  const none = totals.all.runs === 0;
  const evidence = totals.by_evidence;
  const complete = (evidence.complete || {runs: 0}).runs;
  return [
    el('h1', null, 'Overview'),
    el('dl', {class: 'figures'},
      figure('Jobs', number(totals.all.runs), `${number(totals.lost.runs)} did not complete`),
      figure('Lost', `${number(totals.lost.gpu_hours)} GPU-h`, `${number(totals.lost.node_hours)} node-h`),
      figure('Infrastructure’s share', percent(totals.infrastructure_share), `${number(totals.infrastructure.runs)} jobs`),
      figure('Node-hours to failure', number(totals.mean_node_hours_to_failure), 'by the infrastructure, mean'),
      figure('Evidence complete', none ? '–' : percent(complete / totals.all.runs)),
      queueFigure(page.queue)),
    none ? el('p', {class: 'empty'}, 'No job ended in this time, or none that the filters let through.') : null,
    none ? null : stacked('Jobs that did not complete, by cause', page.series, 'by_sub_domain'),
    none ? null : stacked('All jobs, by state', page.series, 'by_state'),
    none ? null : causes(here, totals),
  ].filter(Boolean);
}
