/** knot.conf: zones with their templates, keys, remotes and acls. */
import { fromBase64 } from '../../base/bytes.js';
import { parseNetwork } from '../../base/ip.js';
import {
  type Configuration,
  type KeyStatement,
  mayBeSecret,
  type Note,
  type ReadingOptions,
} from '../configuration.js';
import { ConfigurationFiles } from '../files.js';
import { faultAt, type Place } from '../place.js';
import { readPort } from '../port.js';
import { type Entry, type Item, readEntries } from './items.js';
import { type Acl, type Remote, readZone, type ZoneSurroundings } from './zones.js';

const DEFAULT_STORAGE = '/var/lib/knot';

const SETTINGS: ReadonlyMap<string, string> = new Map([
  ['listen', 'dns-host and dns-port'],
  ['listen-tls', 'dot-port'],
  ['identity', 'dns-identity'],
  ['nsid', 'dns-identity'],
]);
/** Sections that are read for zones, keys and who transfers. */
const READ = new Set(['zone', 'template', 'key', 'remote', 'remotes', 'acl', 'policy']);

export function readKnot(path: string, { root }: ReadingOptions): Configuration {
  const files = new ConfigurationFiles(path, root);
  const entries = readEntries(files);
  const of = (section: string): Entry[] => entries.filter((entry) => entry.section === section);
  const notes: Note[] = [];
  for (const { section, items } of entries.filter((entry) => !READ.has(entry.section))) {
    for (const item of items) notes.push(noteOf(section, item));
  }
  const keys = of('key').map(readKey);
  const remotes = new Map<string, readonly Remote[]>();
  for (const entry of of('remote')) remotes.set(idOf(entry), readRemote(entry));
  for (const entry of of('remotes')) {
    const members = listOf(entry, 'remote');
    remotes.set(
      idOf(entry),
      members.values.flatMap((name) => lookUp(remotes, name, members.place, 'remote')),
    );
  }
  const acls = new Map<string, Acl>();
  for (const entry of of('acl')) acls.set(idOf(entry), readAcl(entry, remotes));
  const server = of('server');
  const around: ZoneSurroundings = {
    files,
    storage: DEFAULT_STORAGE,
    templates: new Map(of('template').map((entry) => [idOf(entry), entry])),
    remotes,
    acls,
    isAutomatic: server.some((entry) => isOn(entry, 'automatic-acl')),
    notes,
  };
  return { program: 'knot', keys, zones: of('zone').flatMap((entry) => readZone(entry, around)), notes };
}

function noteOf(section: string, { name, values, place }: Item): Note {
  const full = `${section}.${name}`;
  const written = mayBeSecret(full) ? full : `${full}: ${values.join(' ')}`;
  const setting = section === 'server' ? SETTINGS.get(name) : undefined;
  if (setting !== undefined) return { kind: 'setting', place, text: `${written}: the settings here are ${setting}` };
  if (section === 'mod-rrl')
    return { kind: 'setting', place, text: `${written}: the settings here are dns-rate-limit and dns-rate-slip` };
  if (section.startsWith('mod-')) return { kind: 'none', place, text: `${written}: there are no modules here` };
  return { kind: 'self', place, text: `${written}: not needed here` };
}

function idOf({ items, section, place }: Entry): string {
  const [first] = items;
  if (first?.name !== 'id' || first.values[0] === undefined)
    throw faultAt(place, `an entry of ${section} begins with its id`);
  return first.values[0];
}

/** Values of all items of a name, and where the first of them is. */
function listOf({ items, place }: Entry, name: string): { readonly values: string[]; readonly place: Place } {
  const found = items.filter((item) => item.name === name);
  return { values: found.flatMap(({ values }) => values), place: found[0]?.place ?? place };
}

function isOn(entry: Entry, name: string): boolean {
  return ['on', 'true'].includes(listOf(entry, name).values.at(-1) ?? '');
}

function lookUp<Value>(known: ReadonlyMap<string, Value>, name: string, place: Place, kind: string): Value {
  const found = known.get(name);
  if (found === undefined) throw faultAt(place, `there is no ${kind} ${name}`);
  return found;
}

function readKey(entry: Entry): KeyStatement {
  const name = idOf(entry);
  const secret = listOf(entry, 'secret').values[0] ?? '';
  if (!fromBase64(secret)) throw faultAt(entry.place, `the secret of the key ${name} is not base 64`);
  const algorithm = listOf(entry, 'algorithm').values[0] ?? 'hmac-sha256';
  return { name, algorithm, secret, place: entry.place };
}

/** One server for each of its addresses. */
function readRemote(entry: Entry): Remote[] {
  const { values, place } = listOf(entry, 'address');
  if (values.length === 0) throw faultAt(entry.place, `the remote ${idOf(entry)} has no address`);
  const [key] = listOf(entry, 'key').values;
  return values.map((text) => {
    const [address = '', port] = text.split('@');
    const network = parseNetwork(address);
    if (!network || address.includes('/')) throw faultAt(place, `${text} is not an address`);
    return { address, port: port === undefined ? undefined : readPort(port, place), key, place, network };
  });
}

function readAcl(entry: Entry, remotes: ReadonlyMap<string, readonly Remote[]>): Acl {
  const addresses = listOf(entry, 'address');
  const named = listOf(entry, 'remote');
  const one = (name: string): string | undefined => listOf(entry, name).values.at(-1);
  return {
    id: idOf(entry),
    place: entry.place,
    addresses: addresses.values,
    keys: listOf(entry, 'key').values,
    remotes: named.values.flatMap((name) => lookUp(remotes, name, named.place, 'remote')),
    actions: listOf(entry, 'action').values,
    isDenied: isOn(entry, 'deny'),
    updateTypes: listOf(entry, 'update-type').values,
    updateOwner: one('update-owner'),
    updateMatch: one('update-owner-match'),
    updateNames: listOf(entry, 'update-owner-name').values,
  };
}
