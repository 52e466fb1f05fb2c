/** named.conf: zones, keys, who transfers, and what has no equivalent. */
import { fromBase64 } from '../../base/bytes.js';
import type { Configuration, KeyStatement, Note, ReadingOptions } from '../configuration.js';
import { ConfigurationFiles } from '../files.js';
import { faultAt, type Place } from '../place.js';
import { type Block, blockOf, type Clause, nameOf, readClauses, wordsOf } from './clauses.js';
import { noteOf } from './option-notes.js';
import { SERVER_LISTS, type ServerFacts, valueIn } from './servers.js';
import { readZone, type ZoneSurroundings } from './zones.js';

const MOST_ZONES = 1_000_000;

export function readBind(path: string, { view, root }: ReadingOptions): Configuration {
  const files = new ConfigurationFiles(path, root);
  const top = readClauses(files);
  const options = top.filter((statement) => nameOf(statement) === 'options').flatMap(insideOf);
  const chosen = chooseView(top, view);
  const inside = chosen ? insideOf(chosen) : [];
  const outer = [...top, ...inside];
  const keys = readKeys(outer);
  const notes: Note[] = [];
  const directory = files.locate(valueIn({ statements: options, place: NOWHERE }, 'directory') ?? '.');
  const surroundings: ZoneSurroundings = {
    files,
    directory,
    lists: blocksOf(outer, 'acl'),
    servers: factsOf(outer),
    levels: [inside, options],
    templates: blocksOf(outer, 'template'),
    catalogs: catalogsOf([...options, ...inside]),
  };
  const zones = outer.filter((statement) => nameOf(statement) === 'zone');
  if (zones.length > MOST_ZONES) throw faultAt(zones[MOST_ZONES]!.place, `there are more than ${MOST_ZONES} zones`);
  const read = zones.map((zone) => readZone(zone, surroundings));
  for (const statement of [...outer, ...options]) {
    const note = noteOf(statement);
    if (note) notes.push(note);
  }
  const controls = controlKeys(top);
  for (const key of keys.filter(({ name }) => controls.has(name))) {
    notes.push({
      kind: 'self',
      place: key.place,
      text: `key ${key.name}: signs commands of rndc, which this server does not take`,
    });
  }
  return {
    program: 'bind',
    keys: keys.filter(({ name }) => !controls.has(name)),
    zones: read.flatMap(({ zone }) => zone ?? []),
    notes: [...notes, ...read.flatMap((each) => each.notes)],
  };
}

const NOWHERE: Place = { file: '', line: 0 };

const insideOf = (statement: Clause): readonly Clause[] => blockOf(statement)?.statements ?? [];

/** The view whose zones are taken; undefined when there are none. Zones exist once here, so of several one has to be chosen. */
function chooseView(top: readonly Clause[], wanted: string | undefined): Clause | undefined {
  const views = top.filter((statement) => nameOf(statement) === 'view');
  const nameOfView = (statement: Clause): string => wordsOf(statement)[0]?.text ?? '';
  const [first] = views;
  if (!first) {
    if (wanted !== undefined) throw faultAt(top[0]?.place ?? NOWHERE, `there is no view ${wanted}, nor any other one`);
    return undefined;
  }
  const places = views.map((statement) => `${nameOfView(statement)} (${statement.place.file}:${statement.place.line})`);
  const chosen =
    wanted === undefined
      ? views.length === 1
        ? first
        : undefined
      : views.find((statement) => nameOfView(statement) === wanted);
  if (chosen) return chosen;
  throw faultAt(
    first.place,
    wanted === undefined
      ? 'there are several views, and a zone is served to everybody in the same way here'
      : `there is no view ${wanted}`,
    `Choose one with --view: ${places.join(', ')}`,
  );
}

function readKeys(statements: readonly Clause[]): KeyStatement[] {
  const keys: KeyStatement[] = [];
  const seen = new Set<string>();
  for (const statement of statements.filter((other) => nameOf(other) === 'key')) {
    const name = wordsOf(statement)[0]?.text;
    const block = blockOf(statement);
    if (name === undefined || !block) throw faultAt(statement.place, 'expected key NAME { algorithm …; secret …; };');
    const algorithm = valueIn(block, 'algorithm');
    const secret = valueIn(block, 'secret');
    if (algorithm === undefined || secret === undefined)
      throw faultAt(statement.place, `the key ${name} needs an algorithm and a secret`);
    if (!fromBase64(secret)) throw faultAt(statement.place, `the secret of the key ${name} is not base 64`);
    if (seen.has(name.toLowerCase())) throw faultAt(statement.place, `the key ${name} is there twice`);
    seen.add(name.toLowerCase());
    keys.push({ name, algorithm, secret, place: statement.place });
  }
  return keys;
}

/** Blocks of statements with this name, by the name that follows it in lower case. */
function blocksOf(statements: readonly Clause[], kind: string): Map<string, Block> {
  const blocks = new Map<string, Block>();
  for (const statement of statements.filter((other) => nameOf(other) === kind)) {
    const name = wordsOf(statement)[0]?.text;
    const block = blockOf(statement);
    if (name === undefined || !block) throw faultAt(statement.place, `expected ${kind} NAME { … };`);
    blocks.set(name.toLowerCase(), block);
  }
  return blocks;
}

function factsOf(statements: readonly Clause[]): ServerFacts {
  const lists = new Map<string, Clause>();
  const keys = new Map<string, string>();
  const tls = new Map<string, Clause>();
  for (const statement of statements) {
    const kind = nameOf(statement);
    const name = wordsOf(statement)[0]?.text;
    if (name === undefined) continue;
    if (SERVER_LISTS.has(kind)) lists.set(name.toLowerCase(), statement);
    if (kind === 'tls') tls.set(name, statement);
    const key = kind === 'server' ? keyOfServer(statement) : undefined;
    if (key !== undefined) keys.set(name, key);
  }
  return { lists, keys, tls };
}

/** `keys name;`, or in braces with one name. */
function keyOfServer(statement: Clause): string | undefined {
  const keys = insideOf(statement).find((other) => nameOf(other) === 'keys');
  if (!keys) return undefined;
  const named = wordsOf(keys)[0]?.text;
  const [first, ...more] = blockOf(keys)?.statements ?? [];
  if (more.length > 0) throw faultAt(more[0]!.place, 'a server can have only one key');
  return named ?? (first && (first.parts[0] as { readonly text?: string }).text);
}

function controlKeys(top: readonly Clause[]): ReadonlySet<string> {
  const channels = top.filter((statement) => nameOf(statement) === 'controls').flatMap(insideOf);
  const lists = channels.flatMap(({ parts }) =>
    parts.flatMap((part, at) => ('text' in part && part.text === 'keys' ? [parts[at + 1]] : [])),
  );
  const names = lists.flatMap((list) =>
    list && 'statements' in list
      ? list.statements.map(({ parts: [name] }) => (name && 'text' in name ? name.text : ''))
      : [],
  );
  return new Set(names);
}

/** Names of the zones whose members become zones (`catalog-zones { zone "…" …; };`). */
function catalogsOf(statements: readonly Clause[]): ReadonlySet<string> {
  const named = statements.filter((statement) => nameOf(statement) === 'catalog-zones').flatMap(insideOf);
  return new Set(named.map((statement) => (wordsOf(statement)[0]?.text ?? '').toLowerCase().replace(/\.$/, '')));
}
