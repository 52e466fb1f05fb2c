/**
 * Reads every SQL text of the store. A writing statement must be a function of the database and its values, so that it
 * has the same effect on every copy that replays it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { allMigrations } from '../../src/store/migrations/migration.js';
import { plannedOnce } from '../../src/store/statement.js';

const STORE = resolve(fileURLToPath(import.meta.url), '..', '..', '..', '..', 'src', 'store');

interface Source {
  readonly name: string;
  readonly text: string;
}

const sources: readonly Source[] = readdirSync(STORE, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(STORE, name), 'utf8') }));

/** Contents of the string and template literals of a program, placeholders as they are. */
function literalsOf(text: string): string[] {
  const literals: string[] = [];
  const token =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<=[=(,:!&|?]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]])*\]|[^/\n\\])+\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`/g;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '`') {
      const end = endOfTemplate(text, token.lastIndex);
      literals.push(text.slice(token.lastIndex, end));
      token.lastIndex = end + 1;
    } else if (found.startsWith("'") || found.startsWith('"')) {
      literals.push(found.slice(1, -1).replaceAll("\\'", "'").replaceAll('\\"', '"'));
    }
  }
  return literals;
}

/** Where the template ends whose content begins at `start`. */
function endOfTemplate(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '`') return at;
    else if (text.startsWith('${', at)) {
      let depth = 1;
      for (at += 2; depth > 0; at++) {
        if (text[at] === '{') depth++;
        else if (text[at] === '}') depth--;
        else if (text[at] === '`') at = endOfTemplate(text, at + 1);
      }
      at--;
    }
  }
  throw new Error('a template has no end');
}

/** With constants of the same file in the place of their names. */
function statementsIn({ name, text }: Source): string[] {
  const constants = new Map<string, string>();
  for (const [, constant, value] of text.matchAll(/^const ([A-Z_]+)(?::[^=]*)? =\s*(['`"][\s\S]*?['`"]);$/gm)) {
    constants.set(constant!, literalsOf(value!).join(''));
  }
  const literals = literalsOf(text).map((literal) =>
    literal.replace(/\$\{([A-Z_]+)\}/g, (whole, constant: string) => constants.get(constant) ?? whole),
  );
  const isMigration = /^(?:migrations|schema)\//.test(name);
  return literals.flatMap((literal) => (isMigration ? literal.split(/;\s*(?:\n|$)|\bBEGIN\s/) : [literal]));
}

const WITHOUT_ROWID = new Set(
  sources.flatMap(({ text }) =>
    [...text.matchAll(/CREATE TABLE (\w+) \((?:(?!CREATE TABLE)[\s\S])*?\n\) ([^;]*);/g)]
      .filter(([, , options]) => options!.includes('WITHOUT ROWID'))
      .map(([, table]) => table!),
  ),
);

/** What a text has that gives other results on another copy; nothing when all is well. */
function faultsOf(sql: string): string[] {
  const faults: string[] = [];
  if (/\brandom(?:blob)?\s*\(/i.test(sql)) faults.push('random()');
  if (/'now'|\bcurrent_(?:time|date|timestamp)\b|\b(?:date|time|datetime|julianday|unixepoch)\(\s*\)/i.test(sql)) {
    faults.push('the time of the copy');
  }
  if (/\b(?:changes|total_changes|last_insert_rowid)\s*\(\s*\)/i.test(sql)) faults.push('the state of the connection');
  const words = sql.replace(/--[^\n]*/g, '').trim();
  if (!/^(?:INSERT|UPDATE|DELETE|REPLACE|WITH)\s/i.test(words)) return faults;
  // Such a statement may also only read.
  if (/^WITH\s/i.test(words) && !/\b(?:INSERT|UPDATE|DELETE|REPLACE)\b/i.test(words)) return faults;
  if (!/^(?:INSERT|UPDATE|DELETE)\s/.test(words)) faults.push('another beginning than INSERT, UPDATE or DELETE');
  if (/\bRETURNING\b/i.test(words)) faults.push('RETURNING');
  return [...faults, ...faultsOfOrder(words)];
}

/** LIMIT, and rows that get numbers, need an order, each at its own depth of parentheses. */
function faultsOfOrder(sql: string): string[] {
  const faults: string[] = [];
  const ordered = [false];
  let selects = false;
  for (const [word] of sql.matchAll(/'(?:[^']|'')*'|[()]|\bORDER\s+BY\b|\bLIMIT\b|\bSELECT\b/gi)) {
    if (word === '(') ordered.push(false);
    else if (word === ')') ordered.pop();
    else if (/^ORDER/i.test(word)) ordered[ordered.length - 1] = true;
    else if (/^LIMIT/i.test(word) && !ordered.at(-1)) faults.push('LIMIT without ORDER BY');
    else if (/^SELECT/i.test(word) && ordered.length === 1) selects = true;
  }
  const [, table = ''] = /^INSERT(?: OR \w+)? INTO "?(\w+)/i.exec(sql) ?? [];
  const isOneRow = !/\bFROM\b/i.test(sql);
  if (table !== '' && selects && !ordered[0] && !isOneRow && !WITHOUT_ROWID.has(table)) {
    faults.push('INSERT … SELECT into numbered rows without ORDER BY');
  }
  return faults;
}

t.test('the search of statements works', async (t) => {
  for (const [sql, fault] of [
    ['INSERT INTO a VALUES (random())', 'random()'],
    ["UPDATE a SET at = strftime('%s', 'now')", 'the time of the copy'],
    ['UPDATE a SET at = CURRENT_TIMESTAMP', 'the time of the copy'],
    ['INSERT INTO a VALUES (last_insert_rowid())', 'the state of the connection'],
    ['DELETE FROM a WHERE b IN (SELECT b FROM c LIMIT 1)', 'LIMIT without ORDER BY'],
    [
      'DELETE FROM a WHERE b IN (SELECT b FROM c WHERE d IN (SELECT d FROM e ORDER BY d) LIMIT 1)',
      'LIMIT without ORDER BY',
    ],
    ['INSERT INTO records SELECT * FROM b', 'INSERT … SELECT into numbered rows without ORDER BY'],
    ['WITH a AS (SELECT 1) DELETE FROM b', 'another beginning than INSERT, UPDATE or DELETE'],
    ['INSERT INTO a VALUES (1) RETURNING b', 'RETURNING'],
  ] as const) {
    t.strictSame(faultsOf(sql), [fault], sql);
  }
  for (const sql of [
    'DELETE FROM a WHERE b IN (SELECT b FROM c ORDER BY b LIMIT 1)',
    'INSERT INTO records SELECT * FROM b ORDER BY c',
    'INSERT INTO records (a) VALUES ((SELECT a FROM b ORDER BY a LIMIT 1))',
    "INSERT INTO meta SELECT 'x', 1",
    'SELECT * FROM a LIMIT 1',
    'WITH a AS (SELECT 1) SELECT * FROM a LIMIT 1',
  ]) {
    t.strictSame(faultsOf(sql), [], sql);
  }
  t.ok(WITHOUT_ROWID.has('scan_records'));
  t.notOk(WITHOUT_ROWID.has('records'));
  const placeholder = '$' + "{g(`'`)}";
  const code = `const A = 'UPDATE a'; // 'x'\nf(/'/, \`SET ${placeholder} = 1\`, "it's");`;
  t.strictSame(literalsOf(code), ['UPDATE a', `SET ${placeholder} = 1`, "it's"]);
});

t.test('writing statements do the same on every copy', async (t) => {
  const writing = sources.flatMap(statementsIn).filter((sql) => /^\s*(?:INSERT|UPDATE|DELETE)\s/.test(sql));
  t.ok(writing.length > 80, `${writing.length} statements write`);
  const faults = sources.flatMap((source) =>
    statementsIn(source).flatMap((sql) => faultsOf(sql).map((fault) => `${source.name}: ${fault} in ${sql.trim()}`)),
  );
  t.strictSame(faults, []);
});

t.test('all files of migrations are taken, in the order of their numbers', async (t) => {
  const numbers = sources.flatMap(({ name }) => /^migrations\/(\d+)-/.exec(name)?.[1] ?? []).map(Number);
  t.equal(new Set(numbers).size, numbers.length, 'no number is used twice');
  t.strictSame(
    allMigrations().map(({ version }) => version),
    numbers.sort((a, b) => a - b),
  );
});

t.test('values of comparisons and limits are hidden from the planner, other values are not', async (t) => {
  t.equal(
    plannedOnce('SELECT a FROM b WHERE c = ? AND d>=? AND e < ?2 AND f IN (?, ?) AND name GLOB ? LIMIT ? OFFSET ?'),
    'SELECT a FROM b WHERE c = +? AND d>=+? AND e < +?2 AND f IN (?, ?) AND name GLOB ? LIMIT +? OFFSET +?',
  );
  t.equal(
    plannedOnce('SELECT a FROM b WHERE c = +?'),
    'SELECT a FROM b WHERE c = +?',
    'what a log holds stays as it is',
  );
});
