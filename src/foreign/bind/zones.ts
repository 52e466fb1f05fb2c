/** `zone` of named.conf. */
import { statSync } from 'node:fs';
import type { Grant, Note, ServerStatement, SigningStatement, ZoneStatement } from '../configuration.js';
import type { ConfigurationFiles } from '../files.js';
import { faultAt, type Place } from '../place.js';
import { localZoneNote, NO_PRIMARIES, zoneNameOf } from '../zones.js';
import { blockOf, type Clause, nameOf, wordsOf } from './clauses.js';
import { type NamedLists, readMatchList } from './match-lists.js';
import { noteOf } from './option-notes.js';
import { readServers, type ServerFacts } from './servers.js';
import { readAllowUpdate, readUpdatePolicy } from './update-policy.js';

export interface ZoneSurroundings {
  readonly files: ConfigurationFiles;
  /** Where relative paths begin. */
  readonly directory: string;
  readonly lists: NamedLists;
  readonly servers: ServerFacts;
  /** Statements that hold for a zone that does not say otherwise, the nearest first: of the view, of the options. */
  readonly levels: readonly (readonly Clause[])[];
  /** `template` of BIND 9.21, by name in lower case. */
  readonly templates: NamedLists;
  /** Names of catalog zones. */
  readonly catalogs: ReadonlySet<string>;
}

export interface ReadZone {
  /** Undefined for a zone that is left out, which a note says. */
  readonly zone?: ZoneStatement;
  readonly notes: readonly Note[];
}

/** Types with which a zone is served by authority. */
const ROLES: ReadonlyMap<string, 'primary' | 'secondary'> = new Map([
  ['master', 'primary'],
  ['primary', 'primary'],
  ['slave', 'secondary'],
  ['secondary', 'secondary'],
]);

export function readZone(statement: Clause, around: ZoneSurroundings): ReadZone {
  const { place } = statement;
  const [named, zoneClass] = wordsOf(statement);
  const block = blockOf(statement);
  if (!named || !block) throw faultAt(place, 'expected zone NAME { … };');
  const own = withTemplate(block.statements, around.templates);
  const name = zoneNameOf(named.text);
  const type = wordOf('type', [own]);
  const role = ROLES.get(type ?? '');
  const leftOut = (kind: Note['kind'], text: string): ReadZone => ({
    notes: [{ kind, place, text: `zone ${name}: ${text}` }],
  });
  if (zoneClass && zoneClass.text.toLowerCase() !== 'in')
    return leftOut('none', `only the class IN is served, not ${zoneClass.text}`);
  if (wordOf('in-view', [own]) !== undefined)
    return leftOut('none', 'in-view takes it from another view; choose that one with --view');
  const local = localZoneNote({ name, place });
  if (local) return { notes: [local] };
  if (!role) {
    if (type === undefined) throw faultAt(place, `zone ${name} has no type`);
    return leftOut('resolver', `the type ${type} is for resolvers`);
  }
  const zone =
    role === 'primary' ? readPrimary(name, statement, own, around) : readSecondary(name, statement, own, around);
  const notes = own.flatMap((inner) => noteOf(inner) ?? []).filter(({ kind }) => kind !== 'self');
  return { zone: zone.zone, notes: [...notes, ...zone.notes] };
}

/** What the zone says itself comes first. */
function withTemplate(own: readonly Clause[], templates: NamedLists): readonly Clause[] {
  const statement = find('template', [own]);
  if (!statement) return own;
  const name = wordsOf(statement)[0]?.text ?? '';
  const template = templates.get(name.toLowerCase());
  if (!template) throw faultAt(statement.place, `there is no template ${name}`);
  return [...own, ...template.statements];
}

type Levels = readonly (readonly Clause[])[];

function find(name: string, levels: Levels): Clause | undefined {
  for (const level of levels) {
    const found = level.find((statement) => nameOf(statement) === name);
    if (found) return found;
  }
  return undefined;
}

function wordOf(name: string, levels: Levels): string | undefined {
  const found = find(name, levels);
  return found && wordsOf(found)[0]?.text.toLowerCase();
}

interface Read {
  readonly zone: ZoneStatement;
  readonly notes: readonly Note[];
}

function readPrimary(name: string, { place }: Clause, own: readonly Clause[], around: ZoneSurroundings): Read {
  const levels = [own, ...around.levels];
  const policy = find('update-policy', [own]);
  const allowUpdate = find('allow-update', levels);
  const { updates, notes } = policy
    ? readUpdatePolicy(policy, name)
    : allowUpdate
      ? readAllowUpdate(allowUpdate, around.lists)
      : { updates: [], notes: [] };
  const outgoing = readOutgoing(place, levels, around);
  const fileStatement = find('file', [own]);
  const path = fileStatement && wordsOf(fileStatement)[0]?.text;
  const signing = readSigning(name, levels, around);
  const base = {
    name,
    place,
    role: 'primary' as const,
    primaries: [],
    updates,
    ...outgoing.servers,
    ...(signing && { signing }),
  };
  if (path === undefined) {
    const refusal = { text: 'it has no file', remedy: 'Transfer it while BIND runs: zoneplane zone transfer' };
    return { zone: { ...base, refusal }, notes: [...notes, ...outgoing.notes] };
  }
  const file = around.files.locate(path.replaceAll('$name', name), around.directory);
  const refusal = refusalOf(name, file, wordOf('masterfile-format', levels));
  return { zone: { ...base, source: { file }, ...(refusal && { refusal }) }, notes: [...notes, ...outgoing.notes] };
}

/** What would be missing from the file. */
function refusalOf(name: string, file: string, format: string | undefined): ZoneStatement['refusal'] {
  if (format !== undefined && format !== 'text') {
    return {
      text: `its file is in the format ${format}`,
      remedy: `Convert it: named-compilezone -f ${format} -F text -o ${file}.text ${name} ${file}; then name the new file in the configuration.`,
    };
  }
  const journal = modifiedAt(`${file}.jnl`);
  const written = modifiedAt(file);
  if (journal === undefined || written === undefined || journal <= written) return undefined;
  return {
    text: `${file}.jnl has changes that are not in its file`,
    remedy: `Have BIND write them: rndc sync ${name}`,
  };
}

function modifiedAt(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

function readSigning(
  name: string,
  levels: Levels,
  { files, directory }: ZoneSurroundings,
): SigningStatement | undefined {
  const policy = find('dnssec-policy', levels);
  const signs = policy && wordsOf(policy)[0]?.text !== 'none' ? policy : undefined;
  const automatic = find('auto-dnssec', levels);
  const maintained =
    automatic && ['maintain', 'allow'].includes(wordsOf(automatic)[0]?.text.toLowerCase() ?? '')
      ? automatic
      : undefined;
  const by = signs ?? maintained;
  if (!by) return undefined;
  const keys = find('key-directory', levels);
  const path = keys && wordsOf(keys)[0]?.text;
  return {
    place: by.place,
    directory: path === undefined ? directory : files.locate(path, directory),
    remedy: `Copy the files K${name}.+*.key and .private there, and make them readable.`,
  };
}

interface Outgoing {
  readonly servers: { readonly notified: readonly ServerStatement[]; readonly grants: readonly Grant[] };
  readonly notes: readonly Note[];
}

function readOutgoing(place: Place, levels: Levels, { lists, servers }: ZoneSurroundings): Outgoing {
  const also = find('also-notify', levels);
  const allow = find('allow-transfer', levels);
  const block = allow && blockOf(allow);
  const { grants, notes } = block ? readMatchList(block, lists) : { grants: [], notes: [] };
  const isQuiet = wordOf('notify', levels) === 'no';
  const notified = also && !isQuiet ? readServers(also, servers) : [];
  // Before 9.20 a server without the statement lets everybody transfer.
  const everybody: Grant[] = allow ? [] : [{ place, text: 'any' }];
  return { servers: { notified, grants: [...grants, ...everybody] }, notes: [...notesOfTransport(allow), ...notes] };
}

/** `allow-transfer port 853 transport tls { … }`: whoever may transfer here may do so over TCP and TLS. */
function notesOfTransport(allow: Clause | undefined): Note[] {
  const only = allow ? wordsOf(allow).map(({ text }) => text) : [];
  if (!allow || only.length === 0) return [];
  const text = `allow-transfer ${only.join(' ')}: no equivalent; here, whoever may transfer may do so over TCP and over TLS`;
  return [{ kind: 'none', place: allow.place, text }];
}

function readSecondary(name: string, { place }: Clause, own: readonly Clause[], around: ZoneSurroundings): Read {
  const statement = find('primaries', [own]) ?? find('masters', [own]);
  const outgoing = readOutgoing(place, [own, ...around.levels], around);
  const primaries = statement ? readServers(statement, around.servers) : [];
  const refusal = refusalOfPrimaries(primaries);
  const zone = {
    name,
    place,
    role: around.catalogs.has(name) ? ('catalog' as const) : ('secondary' as const),
    primaries,
    updates: [],
    ...outgoing.servers,
    ...(refusal && { refusal }),
  };
  return { zone, notes: outgoing.notes };
}

function refusalOfPrimaries(primaries: readonly ServerStatement[]): ZoneStatement['refusal'] {
  if (primaries.length === 0) return NO_PRIMARIES;
  const fault = primaries.find(({ tlsFault }) => tlsFault !== undefined)?.tlsFault;
  if (fault === undefined) return undefined;
  return {
    text: fault,
    remedy: 'Give it a remote-hostname, or make the zone with zoneplane zone create --tls-name or --tls-pin.',
  };
}
