// SPDX-License-Identifier: Apache-2.0
// Asking the server. Errors carry a sentence for the person who reads them.

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered with ${status}`);
    this.status = status;
    this.code = problem.code || '';
  }
}

export function address(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters || {}).filter(([, value]) => value !== '' && value != null));
  return `api/${path}${query.size ? `?${query}` : ''}`;
}

async function read(response) {
  if (response.ok) return response.json();
  let problem = {};
  try { problem = await response.json(); } catch { /* not ours: a proxy's page */ }
  throw new ApiError(response.status, problem);
}

async function ask(url, options) {
  try {
    return await read(await fetch(url, {credentials: 'same-origin', ...options}));
  } catch (error) {
    if (error instanceof ApiError || error.name === 'AbortError') throw error;
    throw new ApiError(0, {detail: 'The server does not answer. Is nvab-web still running?'});
  }
}

export const get = (path, parameters, signal) => ask(address(path, parameters), {signal});
export const post = (path, body) =>
  ask(`api/${path}`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
