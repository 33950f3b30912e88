// SPDX-License-Identifier: Apache-2.0
// The bar of filters: what is chosen goes into the address, and the page follows the address.

import {get} from './api.js';
import {link} from './app.js';
import {el} from './dom.js';
import {SUB_DOMAINS, STATES, words} from './words.js';

const RANGES = [['24h', 'last day'], ['7d', 'last week'], ['30d', 'last month'], ['90d', 'last quarter']];
const SELECTS = [['cluster', 'Cluster'], ['partition', 'Partition'], ['account', 'Account'], ['user', 'User']];

let known = null;  // the choices, and for which range

function go(here, changes) {
  location.hash = link(here.page, {...here.parameters, after: '', ...changes}).slice(1);
}

function select(here, name, title, choices, label = (value) => value) {
  const chosen = here.parameters[name] || '';
  const all = chosen && !choices.includes(chosen) ? [chosen, ...choices] : choices;
  return el('label', null, `${title} `, el('select', {name, onchange: (event) => go(here, {[name]: event.target.value})},
    el('option', {value: ''}, 'all'), all.map((value) => el('option', {value, selected: value === chosen}, label(value)))));
}

function field(here, name, title, type = 'text') {
  return el('label', null, `${title} `, el('input', {name, type, value: here.parameters[name] || '', onchange: (event) => go(here, {[name]: event.target.value.trim()})}));
}

function rangeOf(here) {
  const from = here.parameters.from || '7d';
  const ranges = RANGES.some(([value]) => value === from) && !here.parameters.to ? RANGES : [[from, 'as set'], ...RANGES];
  return el('label', null, 'Time ', el('select', {name: 'from', onchange: (event) => go(here, {from: event.target.value, to: ''})},
    ranges.map(([value, title]) => el('option', {value, selected: value === from}, title))));
}

async function choicesFor(here) {
  const key = `${here.parameters.from || ''}|${here.parameters.to || ''}`;
  if (known?.key !== key) known = {key, choices: await get('choices', {from: here.parameters.from || '7d', to: here.parameters.to})};
  return known.choices;
}

export async function drawFilters(here) {
  const bar = document.getElementById('filters');
  if (!here) {
    bar.replaceChildren();
    return;
  }
  let choices = {};
  try { choices = await choicesFor(here); } catch { /* the page itself says what is wrong */ }
  const used = Object.keys(here.parameters).some((name) => name !== 'from');
  bar.replaceChildren(el('form', {'aria-label': 'Filters', onsubmit: (event) => event.preventDefault()}, rangeOf(here),
    SELECTS.map(([name, title]) => select(here, name, title, choices[name] || [])),
    select(here, 'state', 'State', STATES, words), select(here, 'sub_domain', 'Cause', SUB_DOMAINS, words), field(here, 'node', 'Node'),
    el('details', {open: Boolean(here.parameters.to)}, el('summary', null, 'Exact times'), field(here, 'from', 'From'), field(here, 'to', 'To')),
    used && el('a', {href: link(here.page, {from: here.parameters.from})}, 'Clear')));
}
