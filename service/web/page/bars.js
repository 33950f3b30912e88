// SPDX-License-Identifier: Apache-2.0
// Stacked bars over time, by Chart.js; and the same as a table, for those who do not see them.

import {el, table} from './dom.js';
import {colour, number, time, words} from './words.js';

function options(ink, grid) {
  return {
    animation: false, responsive: true, maintainAspectRatio: false,
    interaction: {mode: 'index', intersect: false},
    scales: {
      x: {stacked: true, ticks: {color: ink, maxRotation: 0, autoSkip: true}, grid: {display: false}},
      y: {stacked: true, beginAtZero: true, ticks: {color: ink, precision: 0}, grid: {color: grid}},
    },
    plugins: {legend: {position: 'bottom', labels: {color: ink, boxWidth: 12}}},
  };
}

// series: [{time, [member]: {word: count}}]
export function stacked(title, series, member) {
  const names = [...new Set(series.flatMap((point) => Object.keys(point[member])))]
    .map((name) => ({name, sum: series.reduce((all, point) => all + (point[member][name] || 0), 0)}))
    .sort((a, b) => b.sum - a.sum).map(({name}) => name);
  const canvas = el('canvas', {role: 'img', 'aria-label': `${title}; the table below has the numbers`});
  const style = getComputedStyle(document.documentElement);
  const hourly = series.length > 1 && Date.parse(series[1].time) - Date.parse(series[0].time) < 86400e3;
  // Drawn once it is in the page: the library measures the room it has.
  requestAnimationFrame(() => new globalThis.Chart(canvas, {
    type: 'bar',
    data: {
      labels: series.map((point) => (hourly ? time(point.time).slice(5, 16) : point.time.slice(0, 10))),
      datasets: names.map((name) => ({label: words(name), data: series.map((point) => point[member][name] || 0), backgroundColor: colour(name), borderColor: style.getPropertyValue('--paper'), borderWidth: 1})),
    },
    options: options(style.getPropertyValue('--ink'), style.getPropertyValue('--line')),
  }));
  const rows = table(title, [
    {title: 'Time', cell: (point) => time(point.time)},
    ...names.map((name) => ({title: words(name), number: true, cell: (point) => number(point[member][name] || 0)})),
  ], series, 'Nothing.');
  return el('section', {class: 'card'}, el('h2', null, title), el('div', {class: 'chart'}, canvas), el('details', null, el('summary', null, 'As a table'), rows));
}
