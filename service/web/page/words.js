// SPDX-License-Identifier: Apache-2.0
// How values look: words for people, numbers, times, colours.

export const DOMAINS = {
  workload: ['user_code', 'user_config', 'user_data', 'framework', 'gpu_oom', 'host_memory'],
  infrastructure: ['gpu_hardware', 'gpu_memory', 'gpu_driver', 'nvlink', 'network_fabric', 'storage', 'host_os', 'host_hardware'],
  scheduler: ['scheduler'], external: ['external_service'], user: ['user_cancel'], time_limit: ['time_limit'],
  none: ['none'], unknown: ['unknown'],
};
export const STATES = ['completed', 'failed', 'timeout', 'cancelled', 'preempted', 'node_failure', 'out_of_memory', 'unknown'];
export const SUB_DOMAINS = Object.values(DOMAINS).flat();

// Blues for the workload and reds for the infrastructure, with steps of lightness that stay apart for the
// colour-blind; the rest in ochre and grey (after Okabe and Ito, Color Universal Design, 2008).
const COLOURS = {
  user_code: '#0b5cad', user_config: '#3f8fd6', user_data: '#8cc0ee', framework: '#1b7f7a', gpu_oom: '#5fb3ae', host_memory: '#a9dad6',
  gpu_hardware: '#8f1d14', gpu_memory: '#c23b22', gpu_driver: '#e0664a', nvlink: '#ee9a82', network_fabric: '#a0336f', storage: '#cf6ea3',
  host_os: '#e6a9c9', host_hardware: '#5c1049',
  scheduler: '#b8860b', external_service: '#d9b44a', user_cancel: '#8a8f98', time_limit: '#e69f00', none: '#2e7d32', unknown: '#555b64',
  completed: '#2e7d32', failed: '#c23b22', timeout: '#e69f00', cancelled: '#8a8f98', preempted: '#b8860b', node_failure: '#5c1049',
  out_of_memory: '#a9dad6',
};
export const colour = (word) => COLOURS[word] || '#555b64';

export const words = (word) => (word || '').replaceAll('_', ' ');

export function number(value, digits = 0) {
  if (value === null || value === undefined) return '–';
  return value.toLocaleString('en', {maximumFractionDigits: digits, minimumFractionDigits: digits});
}

export function percent(value) {
  return value === null || value === undefined ? '–' : `${number(100 * value, 0)} %`;
}

// In UTC, as logs have it; the title of a <time> tells the reader's own.
export function time(text) {
  return text ? text.slice(0, 19).replace('T', ' ') : '–';
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || seconds < 0) return '–';
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min']];
  for (const [size, unit] of parts) if (seconds >= 2 * size) return `${number(seconds / size, seconds < 10 * size ? 1 : 0)} ${unit}`;
  return `${number(seconds)} s`;
}
