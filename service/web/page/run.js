// SPDX-License-Identifier: Apache-2.0
// One run: why, and what now.

import {address, get, post} from './api.js';
import {link} from './app.js';
import {el, table} from './dom.js';
import {badge} from './runs.js';
import {Timeline} from './timeline.js';
import {duration, number, percent, SUB_DOMAINS, time, words} from './words.js';

const seconds = (context) => (context.end_time && context.start_time ? (Date.parse(context.end_time) - Date.parse(context.start_time)) / 1000 : null);

function facts(result) {
  const c = result.context;
  const pairs = [['User', c.user], ['Account', c.account], ['Name', c.name], ['Cluster', c.cluster], ['Partition', c.partition], ['State', c.state], ['Exit code', c.exit_code],
    ['Ended', `${time(c.end_time)} UTC`], ['Ran for', duration(seconds(c))], ['Nodes', `${c.nodes?.length ?? 0}: ${(c.nodes || []).slice(0, 12).join(', ')}${c.nodes?.length > 12 ? ', …' : ''}`]];
  return el('dl', {class: 'facts'}, pairs.filter(([, value]) => value).map(([name, value]) => [el('dt', null, name), el('dd', null, value)]));
}

function copyable(text) {
  const button = el('button', {type: 'button', onclick: async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  }}, 'Copy');
  return el('p', {class: 'command'}, el('code', null, text), ' ', button);
}

function blame(result) {
  const who = result.culprits || {};
  const parts = [who.nodes?.length ? `node ${who.nodes.join(', ')}` : null, ...(who.gpus || []).map((gpu) => `GPU ${gpu.index ?? gpu.pci} of ${gpu.node}`),
    ...(who.nics || []).map((nic) => `${nic.name || 'port'} of ${nic.node}`), result.first_failing_rank !== null && result.first_failing_rank !== undefined ? `rank ${result.first_failing_rank} failed first` : null].filter(Boolean);
  return parts.length ? parts.join('; ') : 'no node is to blame';
}

function verdict(result) {
  const root = result.root_cause || {};
  const advice = result.advice || {};
  return el('section', {class: 'card verdict'},
    el('p', null, badge(result.terminal_state), ' ', badge(result.sub_domain)),
    el('h2', null, root.title || 'The evidence does not say why'),
    el('p', null, root.explanation || ''),
    el('dl', {class: 'facts'}, el('dt', null, 'Sure'), el('dd', null, percent(root.confidence)), el('dt', null, 'To blame'), el('dd', null, blame(result)), el('dt', null, 'Rule'), el('dd', null, root.rule || '–')),
    el('h3', null, 'What to do now'), el('p', null, advice.summary || words(advice.action)),
    advice.exclude_nodes?.length ? copyable(`sbatch --exclude=${advice.exclude_nodes.join(',')}`) : null,
    (advice.drain || []).map((drain) => copyable(`scontrol update nodename=${drain.node} state=drain reason='${drain.reason.replaceAll("'", '')}'`)),
    result.progress?.lost_gpu_hours ? el('p', null, `${number(result.progress.lost_gpu_hours, 1)} GPU-hours since the last checkpoint are lost.`) : null);
}

function evidence(result) {
  const list = table('Evidence', [
    {title: 'Time (UTC)', cell: (item) => time(item.time)}, {title: 'Role', cell: (item) => item.role + (item.mark ? ` (${words(item.mark)})` : '')}, {title: 'Node', cell: (item) => item.node || '–'},
    {title: 'Rank', cell: (item) => item.rank ?? '–'}, {title: 'Line', cell: (item) => el('code', null, item.text)},
    {title: 'From', cell: (item) => (item.origin?.stream ? `${item.origin.stream}${item.origin.line ? `:${item.origin.line}` : ''}` : '–')},
    {title: 'Follows from', cell: (item) => (item.caused_by === null || item.caused_by === undefined ? '–' : result.timeline[item.caused_by]?.rule || '–')},
  ], result.timeline, 'No evidence was found.');
  list.querySelectorAll('tbody tr').forEach((row, i) => { row.id = `event-${i}`; row.tabIndex = -1; });
  return list;
}

function alternatives(result) {
  if (!result.alternatives?.length) return null;
  return table('What else it could have been', [
    {title: 'Cause', cell: (other) => words(other.id)}, {title: 'Sub-domain', cell: (other) => words(other.sub_domain)}, {title: 'Sure', number: true, cell: (other) => percent(other.confidence)}, {title: 'Why not', cell: (other) => other.why_not},
  ], result.alternatives, '');
}

function missing(result) {
  const reports = (result.connector_reports || []).map((report) => el('li', null, `${report.connector}: ${words(report.status)}${report.reason ? `, ${report.reason}` : ''}`));
  return el('section', null, el('h2', null, `Evidence: ${words(result.evidence_status)}`), result.missing?.length ? el('ul', null, result.missing.map((text) => el('li', null, text))) : null, reports.length ? el('details', null, el('summary', null, 'What was read'), el('ul', null, reports)) : null);
}

function remarks(page) {
  if (!page.annotations) return null;
  const text = el('textarea', {id: 'remark', required: true, maxlength: 4000, rows: 3});
  const author = el('input', {id: 'author', maxlength: 100, autocomplete: 'username'});
  const right = el('select', {id: 'right'}, el('option', {value: ''}, 'I do not know'), SUB_DOMAINS.map((word) => el('option', {value: word}, words(word))));
  const answer = el('p', {role: 'alert'});
  const form = el('form', {class: 'card', onsubmit: async (event) => {
    event.preventDefault();
    try {
      await post(`runs/${page.run_id}/annotation`, {text: text.value, author: author.value, sub_domain: right.value});
      dispatchEvent(new HashChangeEvent('hashchange'));
    } catch (error) { answer.textContent = error.message; }
  }}, el('label', {for: 'remark'}, 'What is wrong with it?'), text, el('p', null, el('label', {for: 'right'}, 'It was rather '), right, ' ', el('label', {for: 'author'}, 'You are '), author, ' ', el('button', null, 'Save')), answer);
  return el('section', null, el('h2', null, 'Remarks'), page.annotations.map((said) => el('blockquote', null, said.text, el('footer', null, `${said.author || 'somebody'}, ${time(said.time)}${said.sub_domain ? `: rather ${words(said.sub_domain)}` : ''}`))),
    el('details', null, el('summary', null, 'This verdict is wrong'), form, el('p', null, el('a', {href: address(`runs/${page.run_id}/case`)}, 'Export the case'), ' to attach it to a report.')));
}

function attempts(page) {
  if (page.attempts.length < 2) return null;
  return table('All runs of this job, side by side', [
    {title: 'Run', cell: (run) => (run.run_id === page.run_id ? el('strong', null, 'this one') : el('a', {href: link('run', null, run.run_id)}, `run ${run.run_id}`))}, {title: 'Attempt', cell: (run) => run.attempt}, {title: 'Ended', cell: (run) => time(run.end)}, {title: 'Judged', cell: (run) => time(run.judged)},
    {title: 'State', cell: (run) => badge(run.terminal_state)}, {title: 'Cause', cell: (run) => badge(run.sub_domain)}, {title: 'Why', cell: (run) => run.title || '–'}, {title: 'Sure', number: true, cell: (run) => percent(run.confidence)}], page.attempts, '');
}

export async function run(here, signal) {
  const page = await get(`runs/${encodeURIComponent(here.id)}`, null, signal);
  const result = {...page.result, timeline: page.result.timeline || []};
  const lines = evidence(result);
  const timeline = new Timeline(result, (index) => { const row = lines.querySelector(`#event-${index}`); row?.scrollIntoView({block: 'center'}); row?.focus(); });
  const job = result.context.job_id;
  return [
    el('h1', null, `Job ${job}`),
    page.is_latest ? null : el('p', {class: 'notice'}, 'This job was judged again later; the latest verdict is in the list of its runs.'),
    result.provisional ? el('p', {class: 'notice'}, 'The job was still running: this verdict is provisional.') : null,
    verdict(result), facts(result), timeline.element(), lines, alternatives(result), missing(result), attempts(page), remarks(page),
    el('section', null, el('h2', null, 'Judge it again'), copyable(`nvab-run -j ${job} --save-bundle /tmp/bundle-${job.replace(/[^\w.-]/g, '_')}`), copyable(`nvab-run --replay /tmp/bundle-${job.replace(/[^\w.-]/g, '_')} --explain`)),
    el('details', null, el('summary', null, 'The whole result as JSON'), el('pre', null, JSON.stringify(page.result, null, 2))),
  ].filter(Boolean).flat();
}
