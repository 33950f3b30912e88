// SPDX-License-Identifier: Apache-2.0
// What hit several jobs at once.

import {address, get} from './api.js';
import {link} from './app.js';
import {el} from './dom.js';
import {badge} from './runs.js';
import {duration, number, time} from './words.js';

function card(incident) {
  const seconds = (Date.parse(incident.last) - Date.parse(incident.first)) / 1000;
  return el('article', {class: 'card'},
    el('h2', null, incident.title || incident.cause), el('p', null, badge(incident.sub_domain), ` ${number(incident.job_count)} jobs of ${number(incident.user_count)} users on ${incident.cluster}`),
    el('p', null, `${time(incident.first)} UTC, within ${duration(seconds)}`),
    incident.nodes.length > 0 && el('p', null, 'Nodes: ', incident.nodes.slice(0, 20).map((node, i) => [i > 0 && ', ', el('a', {href: link('runs', {node, from: '30d'})}, node)]), incident.nodes.length > 20 && ` and ${incident.nodes.length - 20} more`),
    el('p', null, 'Jobs: ', incident.jobs.map((job, i) => [i > 0 && ', ', el('a', {href: link('run', null, job.run_id)}, `${job.job_id} (${job.user})`)])));
}

export async function incidents(here, signal) {
  const parameters = {from: '7d', ...here.parameters};
  const page = await get('incidents', parameters, signal);
  return [
    el('h1', null, 'Incidents'),
    el('p', null, 'Verdicts with the same cause, close in time, on one node or in something that jobs share.'),
    el('p', {class: 'actions'}, el('a', {href: address('incidents', {...parameters, format: 'csv'})}, 'CSV'), el('a', {href: address('incidents', parameters)}, 'JSON')),
    page.is_cut && el('p', {class: 'notice'}, 'There are more verdicts than are looked at together: choose a shorter time for the older ones.'),
    page.incidents.length === 0 ? el('p', {class: 'empty'}, 'Nothing hit more than one job in this time.') : page.incidents.map(card),
  ].filter(Boolean).flat();
}
