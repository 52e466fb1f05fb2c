/** nsd.conf: zones with their patterns, keys, and who transfers. */
import { fromBase64 } from '../../base/bytes.js';
import { parseIP, parseNetwork } from '../../base/ip.js';
import {
  type Configuration,
  type Grant,
  type KeyStatement,
  mayBeSecret,
  type Note,
  type ReadingOptions,
  type ServerStatement,
  type ZoneStatement,
} from '../configuration.js';
import { ConfigurationFiles } from '../files.js';
import { faultAt } from '../place.js';
import { readPort } from '../port.js';
import { localZoneNote, madeCatalog, zoneNameOf } from '../zones.js';
import { type Attribute, readSections, type Section } from './sections.js';

const DEFAULT_DIRECTORY = '/etc/nsd';
const MOST_DEPTH = 16;
/** What is read from zones and patterns. */
const READ = new Set([
  'name',
  'zonefile',
  'include-pattern',
  'request-xfr',
  'provide-xfr',
  'notify',
  'allow-notify',
  'catalog',
]);
/** What a server of its own kind needs, and what has a setting here. */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  ['ip-address', 'dns-host'],
  ['interface', 'dns-host'],
  ['port', 'dns-port'],
  ['identity', 'dns-identity'],
  ['nsid', 'dns-identity'],
  ['rrl-ratelimit', 'dns-rate-limit'],
  ['rrl-slip', 'dns-rate-slip'],
  ['tls-port', 'dot-port'],
  ['tls-service-key', 'tls-key'],
  ['tls-service-pem', 'tls-cert'],
  ['cookie-secret', 'cookie-secret'],
]);

export function readNsd(path: string, { root }: ReadingOptions): Configuration {
  const files = new ConfigurationFiles(path, root);
  const sections = readSections(files);
  const of = (name: string): Section[] => sections.filter((section) => section.name === name);
  const server = of('server').flatMap(({ attributes }) => attributes);
  const patterns = new Map(of('pattern').map((section) => [nameIn(section), section]));
  const tls = new Map(
    of('tls-auth').map((section) => [nameIn(section), lastOf('auth-domain-name', section.attributes)]),
  );
  const directory = files.locate(lastOf('zonesdir', server) ?? DEFAULT_DIRECTORY);
  const notes: Note[] = server.map(noteOf);
  const zones = of('zone').flatMap((section): ZoneStatement[] => {
    const attributes = expand(section.attributes, patterns, []);
    const name = zoneNameOf(nameIn(section));
    const { place } = section;
    const local = localZoneNote({ name, place });
    if (local) {
      notes.push(local);
      return [];
    }
    for (const attribute of attributes.filter(({ name: own }) => !READ.has(own))) {
      const { name: own, values } = attribute;
      notes.push({
        kind: 'self',
        place: attribute.place,
        text: `${own}: ${values.join(' ')}: not needed here`,
      });
    }
    return [readZone(name, section, attributes, { files, directory, tls, notes })];
  });
  return { program: 'nsd', keys: of('key').map(readKey), zones, notes };
}

function noteOf({ name, values, place }: Attribute): Note {
  const setting = SETTINGS.get(name);
  const written = mayBeSecret(name) ? name : `${name}: ${values.join(' ')}`;
  if (setting === undefined) return { kind: 'self', place, text: `${written}: not needed here` };
  return { kind: 'setting', place, text: `${written}: the setting here is ${setting}` };
}

function lastOf(name: string, attributes: readonly Attribute[]): string | undefined {
  // The last one holds.
  return attributes.findLast((attribute) => attribute.name === name)?.values[0];
}

function nameIn({ name, attributes, place }: Section): string {
  const found = lastOf('name', attributes);
  if (!found) throw faultAt(place, `the ${name} has no name`);
  return found;
}

/** Attributes of a zone with those of its patterns in their place. */
function expand(
  attributes: readonly Attribute[],
  patterns: ReadonlyMap<string, Section>,
  open: readonly string[],
): Attribute[] {
  return attributes.flatMap((attribute) => {
    if (attribute.name !== 'include-pattern') return [attribute];
    const name = attribute.values[0]!;
    const pattern = patterns.get(name);
    if (!pattern) throw faultAt(attribute.place, `there is no pattern ${name}`);
    if (open.includes(name)) throw faultAt(attribute.place, `the pattern ${name} includes itself`);
    if (open.length >= MOST_DEPTH) throw faultAt(attribute.place, `patterns are nested more than ${MOST_DEPTH} deep`);
    return expand(pattern.attributes, patterns, [...open, name]).filter((inner) => inner.name !== 'name');
  });
}

function readKey({ attributes, place, ...section }: Section): KeyStatement {
  const name = nameIn({ ...section, attributes, place });
  const secret = lastOf('secret', attributes) ?? '';
  if (!fromBase64(secret)) throw faultAt(place, `the secret of the key ${name} is not base 64`);
  return { name, algorithm: lastOf('algorithm', attributes) ?? 'hmac-sha256', secret, place };
}

interface Surroundings {
  readonly files: ConfigurationFiles;
  readonly directory: string;
  readonly tls: ReadonlyMap<string, string | undefined>;
  readonly notes: Note[];
}

function readZone(
  name: string,
  { place }: Section,
  attributes: readonly Attribute[],
  around: Surroundings,
): ZoneStatement {
  const all = (kind: string): Attribute[] => attributes.filter((attribute) => attribute.name === kind);
  const primaries = all('request-xfr').map((attribute) => readPrimary(attribute, around));
  const base = {
    name,
    place,
    notified: all('notify').map(readServer),
    grants: readGrants(all('provide-xfr'), around.notes),
    primaries,
    updates: [],
  };
  const catalog = lastOf('catalog', attributes);
  if (catalog === 'producer') return { ...base, role: 'primary', refusal: madeCatalog('NSD') };
  if (primaries.length > 0) return { ...base, role: catalog === 'consumer' ? 'catalog' : 'secondary' };
  const file = lastOf('zonefile', attributes);
  if (file === undefined)
    return {
      ...base,
      role: 'primary',
      refusal: { text: 'it has no zonefile', remedy: 'Name it in the configuration.' },
    };
  return { ...base, role: 'primary', source: { file: around.files.locate(fillIn(file, name), around.directory) } };
}

/** `%s` is the name of the zone, `%1` to `%3` its first characters, `%z`, `%y`, `%x` its last labels. */
function fillIn(file: string, zone: string): string {
  const labels = zone.split('.');
  const parts: Readonly<Record<string, string>> = {
    s: zone,
    '1': zone[0] ?? '.',
    '2': zone[1] ?? '.',
    '3': zone[2] ?? '.',
    z: labels.at(-1) ?? '.',
    y: labels.at(-2) ?? '.',
    x: labels.at(-3) ?? '.',
  };
  return file.replaceAll(/%([s123zyx])/g, (_, part: string) => parts[part]!);
}

/** `address[@port] key`. */
function readServer({ name, values, place }: Attribute): ServerStatement {
  const [where = '', key] = values;
  const [address = '', port] = where.split('@');
  if (!parseIP(address) || key === undefined) throw faultAt(place, `${name}: takes an address and a key, or NOKEY`);
  return { address, port: port === undefined ? undefined : readPort(port, place), key: keyOf(key), place };
}

function readPrimary({ name, values, place }: Attribute, { tls }: Surroundings): ServerStatement {
  const rest = ['AXFR', 'UDP'].includes(values[0] ?? '') ? values.slice(1) : values;
  const server = readServer({ name, values: rest, place });
  const [, , secure] = rest;
  if (secure === undefined) return server;
  const tlsName = tls.get(secure);
  if (tlsName === undefined) throw faultAt(place, `tls-auth ${secure} has no auth-domain-name`);
  return { ...server, tlsName };
}

const keyOf = (key: string): string | undefined => (key === 'NOKEY' ? undefined : key);

/** A blocked network takes away what is inside it, wherever it stands. */
function readGrants(attributes: readonly Attribute[], notes: Note[]): Grant[] {
  const blocked = attributes.find(({ values }) => values[1] === 'BLOCKED');
  if (blocked) {
    const text = `provide-xfr: ${blocked.values.join(' ')}: what is blocked has no equivalent, so nobody may transfer the zone`;
    notes.push({ kind: 'none', place: blocked.place, text });
    return [];
  }
  return attributes.flatMap(({ values, place }): Grant[] => {
    const [where = '', key] = values;
    if (key === undefined) throw faultAt(place, 'provide-xfr: takes addresses and a key, or NOKEY');
    const network = parseNetwork(where.replace(/@\d+$/, ''));
    if (!network) {
      if (!/[&-]/.test(where)) throw faultAt(place, `${where} is neither an address nor a network`);
      notes.push({
        kind: 'none',
        place,
        text: `provide-xfr: ${where}: only addresses and networks with a prefix may transfer`,
      });
      return [];
    }
    return [
      network.bits === 0 ? { key: keyOf(key), text: where, place } : { network, key: keyOf(key), text: where, place },
    ];
  });
}
