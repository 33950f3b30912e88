// SPDX-License-Identifier: Apache-2.0
// The shell: which page, with which filters. Both stand in the address, after the '#', so that a link shows
// what the one who made it saw.

import {ApiError, post} from './api.js';
import {el, say} from './dom.js';
import {drawFilters} from './filters.js';
import {overview} from './overview.js';
import {nodes} from './nodes.js';
import {runs} from './runs.js';
import {run} from './run.js';
import {incidents} from './incidents.js';

// Pages: title, and what draws them into `main` from the parameters. Those without filters have a job of their own.
const PAGES = {
  overview: {title: 'Overview', draw: overview, filters: true},
  nodes: {title: 'Nodes', draw: nodes, filters: true},
  incidents: {title: 'Incidents', draw: incidents, filters: true},
  runs: {title: 'Runs', draw: runs, filters: true},
  run: {title: 'Run', draw: run, filters: false, hidden: true},
};

export function place() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [page, id] = path.split('/');
  return {page: PAGES[page] ? page : 'overview', id: id ? decodeURIComponent(id) : '', parameters: Object.fromEntries(new URLSearchParams(query || ''))};
}

export function link(page, parameters, id) {
  const query = new URLSearchParams(Object.entries(parameters || {}).filter(([, value]) => value !== '' && value != null));
  return `#/${page}${id !== undefined ? `/${encodeURIComponent(id)}` : ''}${query.size ? `?${query}` : ''}`;
}

function drawNav(here) {
  const kept = {...here.parameters};
  delete kept.q;
  delete kept.after;
  document.getElementById('nav').replaceChildren(...Object.entries(PAGES).filter(([, page]) => !page.hidden).map(([name, page]) =>
    el('a', {href: link(name, kept), 'aria-current': name === here.page ? 'page' : null}, page.title)));
  document.getElementById('search-text').value = here.parameters.q || '';
}

function drawLogin(main) {
  const field = el('input', {type: 'password', id: 'token', autocomplete: 'current-password', required: true});
  const wrong = el('p', {class: 'notice', role: 'alert'});
  main.replaceChildren(el('h1', null, 'A token is needed'),
    el('form', {class: 'card', onsubmit: async (event) => {
      event.preventDefault();
      try {
        await post('login', {token: field.value});
        show();
      } catch (error) { wrong.textContent = error.message; }
    }}, el('p', null, 'The people who run this page have the token.'), el('label', {for: 'token'}, 'Token '), field, ' ', el('button', null, 'Log in'), wrong));
}

let running = null;
async function show() {
  const here = place();
  const page = PAGES[here.page];
  const main = document.getElementById('main');
  running?.abort();
  running = new AbortController();
  const {signal} = running;
  drawNav(here);
  document.title = `${page.title}${here.id ? ` ${here.id}` : ''} – nvab`;
  drawFilters(page.filters ? here : null);
  main.setAttribute('aria-busy', 'true');
  say(`Loading ${page.title}`);
  try {
    const content = await page.draw(here, signal);
    if (signal.aborted) return;
    main.replaceChildren(...content);
    say(`${page.title} is shown`);
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof ApiError && error.status === 401) drawLogin(main);
    else main.replaceChildren(el('h1', null, page.title), el('p', {class: 'notice', role: 'alert'}, error.message), el('button', {type: 'button', onclick: show}, 'Try again'));
    if (!(error instanceof ApiError)) console.error(error);
  } finally {
    if (!signal.aborted) main.removeAttribute('aria-busy');
  }
}

function switchTheme() {
  const dark = (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  try { localStorage.setItem('nvab-theme', document.documentElement.dataset.theme); } catch { /* not allowed: for this visit only */ }
  show();
}

try {
  const theme = localStorage.getItem('nvab-theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* not allowed */ }
document.getElementById('theme').addEventListener('click', switchTheme);
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  document.getElementById('main').focus();
});
document.getElementById('search').addEventListener('submit', (event) => {
  event.preventDefault();
  const q = document.getElementById('search-text').value.trim();
  location.hash = link('runs', {...place().parameters, q, after: ''});
});
addEventListener('hashchange', show);
show();
