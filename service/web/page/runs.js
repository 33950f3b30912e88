// SPDX-License-Identifier: Apache-2.0
// Lists of runs, also as the answer to a search.

import {address, get} from './api.js';
import {link} from './app.js';
import {el, table} from './dom.js';
import {colour, number, percent, time, words} from './words.js';

export function badge(word) {
  const mark = el('span', {class: 'badge'}, words(word));
  mark.style.setProperty('--badge', colour(word));
  return mark;
}

export const runColumns = () => [
  {title: 'Job', cell: (run) => el('a', {href: link('run', null, run.run_id)}, run.job_id)},
  {title: 'Ended', cell: (run) => time(run.end)},
  {title: 'State', cell: (run) => badge(run.terminal_state)},
  {title: 'Cause', cell: (run) => badge(run.sub_domain)},
  {title: 'Why', cell: (run) => run.title || '–'},
  {title: 'Sure', number: true, cell: (run) => percent(run.confidence)},
  {title: 'Name', cell: (run) => run.name},
  {title: 'User', cell: (run) => run.user},
  {title: 'Partition', cell: (run) => run.partition},
  {title: 'Nodes', number: true, cell: (run) => number(run.nodes)},
];

export async function runs(here, signal) {
  const parameters = {from: here.parameters.q ? '90d' : '7d', ...here.parameters};
  const page = await get('runs', parameters, signal);
  const empty = here.parameters.q ? `Nothing is found for “${here.parameters.q}” in this time. A longer range may hold it.` : 'No job ended in this time, or none that the filters let through.';
  return [
    el('h1', null, here.parameters.q ? `Search for “${here.parameters.q}”` : 'Runs'),
    el('p', {class: 'actions'}, el('a', {href: address('runs', {...parameters, format: 'csv', limit: 1000})}, 'CSV'), el('a', {href: address('runs', parameters)}, 'JSON')),
    table('Runs, newest first', runColumns(), page.runs, empty),
    page.after && el('p', null, el('a', {href: link('runs', {...here.parameters, after: page.after})}, 'Older')),
  ].filter(Boolean);
}
