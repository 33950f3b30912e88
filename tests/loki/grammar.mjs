// SPDX-License-Identifier: Apache-2.0
// Parses queries with the real LogQL grammar of Grafana.
//
//   node grammar.mjs FOLDER < queries.json
//
// FOLDER holds node_modules. The input is a list of {query, matchers: {label: value}, filters: N}: the
// query must parse without an error, have exactly these matchers, with these values once unquoted as Go
// does it, and so many line filters.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(`${process.argv[2]}/node_modules/x.js`);
const { parser } = require('@grafana/lezer-logql');

const escapes = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };
function unquote(text) {
  if (text[0] === '`') return text.slice(1, -1);
  return text.slice(1, -1).replace(/\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[^])/gi, (_, body) =>
    /^[xuU]./.test(body) ? String.fromCodePoint(parseInt(body.slice(1), 16)) : (escapes[body] ?? body));
}

function look(query) {
  const found = { matchers: {}, filters: 0, errors: [] };
  let label = '';
  parser.parse(query).iterate({
    enter(node) {
      const text = query.slice(node.from, node.to);
      if (node.type.isError) found.errors.push(`at ${node.from}: ${query.slice(node.from, node.from + 20)}`);
      if (node.name === 'LineFilter') found.filters += 1;
      if (node.name === 'Matcher') label = query.slice(node.node.firstChild.from, node.node.firstChild.to);
      if (node.name === 'String' && node.node.parent.name === 'Matcher') found.matchers[label] = unquote(text);
    },
  });
  return found;
}

let bad = 0;
const cases = JSON.parse(readFileSync(0, 'utf8'));
for (const one of cases) {
  const found = look(one.query);
  const wanted = JSON.stringify([one.matchers, one.filters, []]);
  const got = JSON.stringify([found.matchers, found.filters, found.errors]);
  if (wanted === got) continue;
  console.log(`${one.query}\n  gave   ${got}\n  wanted ${wanted}`);
  bad += 1;
}
// The check itself must be able to refuse.
if (look('{a="b"').errors.length === 0 || look('{a="b"} |= x').errors.length === 0) {
  console.log('broken queries are taken');
  bad += 1;
}
console.log(`${cases.length} queries, ${bad} wrong`);
process.exit(bad === 0 && cases.length > 0 ? 0 : 1);
