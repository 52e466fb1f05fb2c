/** pdns.conf with the backends whose data are files: zone files (bind) and SQLite (gsqlite3). */
import { isLoopback, parseIP, parseNetwork } from '../../base/ip.js';
import { readBind } from '../bind/read.js';
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
import { faultAt, type Place } from '../place.js';
import { readPort } from '../port.js';
import { localZoneNote, madeCatalog, NO_PRIMARIES, zoneNameOf } from '../zones.js';
import { type DomainRow, openDatabase, type PowerDnsDatabase } from './database.js';
import { readSettings, type Setting, type SettingsByName } from './settings.js';
import { zoneText } from './zone-text.js';

const MOST_OCTETS = 512 * 2 ** 20;
const OWN_SETTINGS: ReadonlyMap<string, string> = new Map([
  ['local-address', 'dns-host'],
  ['local-port', 'dns-port'],
  ['server-id', 'dns-identity'],
  ['api-key', 'the keys of the API (zoneplane key create)'],
]);
/** Said by other means here, or not needed. */
const READ = new Set([
  'launch',
  'include-dir',
  'allow-axfr-ips',
  'disable-axfr',
  'also-notify',
  'dnsupdate',
  'allow-dnsupdate-from',
]);
const WITHOUT_EQUIVALENT =
  /^(lua|resolver|expand-alias|enable-lua|geoip|pipe|remote|only-notify|trusted-notification|autosecondary|superslave)/;

export function readPowerDns(path: string, { root, view }: ReadingOptions): Configuration {
  const files = new ConfigurationFiles(path, root);
  const settings = readSettings(files);
  const notes: Note[] = [];
  for (const [name, { value, place }] of settings) {
    if (!READ.has(name) && !/^(bind|gsqlite3)(-|$)/.test(name)) notes.push(noteOf(name, value, place));
  }
  const around: Surroundings = { files, settings, notes, view, root, octets: 0 };
  const launch = settings.get('launch');
  if (!launch || launch.value === '') return { program: 'powerdns', keys: [], zones: [], notes };
  const read = launch.value.split(/[\s,]+/).map((backend) => readBackend(backend, launch.place, around));
  return {
    program: 'powerdns',
    keys: read.flatMap(({ keys }) => keys),
    zones: read.flatMap(({ zones }) => zones).filter((zone) => !leaveOut(zone, notes)),
    notes: [...notes, ...read.flatMap((each) => each.notes)],
  };
}

function noteOf(name: string, value: string, place: Place): Note {
  // Passwords stand in some of them.
  const written = mayBeSecret(name) || name.includes('key') ? name : `${name}=${value}`;
  const setting = OWN_SETTINGS.get(name);
  if (setting !== undefined) return { kind: 'setting', place, text: `${written}: here it is ${setting}` };
  if (WITHOUT_EQUIVALENT.test(name)) return { kind: 'none', place, text: `${written}: no equivalent` };
  return { kind: 'self', place, text: `${written}: not needed here` };
}

function leaveOut(zone: ZoneStatement, notes: Note[]): boolean {
  const local = localZoneNote(zone);
  if (local) notes.push(local);
  return local !== undefined;
}

interface Surroundings extends ReadingOptions {
  readonly files: ConfigurationFiles;
  readonly settings: SettingsByName;
  readonly notes: Note[];
  octets: number;
}

type Read = Pick<Configuration, 'keys' | 'zones' | 'notes'>;

function readBackend(text: string, place: Place, around: Surroundings): Read {
  const [name = '', instance] = text.split(':');
  const prefix = instance === undefined ? name : `${name}-${instance}`;
  if (name === 'bind') return readBindBackend(prefix, place, around);
  if (name === 'gsqlite3') {
    const file = around.settings.get(`${prefix}-database`);
    if (!file) throw faultAt(place, `${prefix}-database is missing`);
    return readDatabase(file, around);
  }
  throw faultAt(
    place,
    `zones of the backend ${name} cannot be read from files`,
    'Take them over while PowerDNS runs: pdnsutil list-all-zones > names; zoneplane zone transfer --list names --from ADDRESS',
  );
}

/** Of named.conf PowerDNS takes names, files, types, primaries and who is told; the rest comes from its own settings. */
function readBindBackend(prefix: string, place: Place, around: Surroundings): Read {
  const config = around.settings.get(`${prefix}-config`);
  if (!config || config.value === '') throw faultAt(place, `${prefix}-config is missing`);
  const { root, view } = around;
  const { zones } = readBind(around.files.locate(config.value), { root, view });
  const companion = around.settings.get(`${prefix}-dnssec-db`);
  const database =
    companion && companion.value !== ''
      ? openDatabase(around.files.locate(companion.value), 'companion', companion.place)
      : undefined;
  try {
    const taken = zones.map(({ signing: _, updates: __, ...zone }): ZoneStatement => {
      const own = ownFacts(zone.name, zone.place, zone.role === 'primary' ? 'MASTER' : 'SLAVE', database, around);
      return {
        ...zone,
        ...own,
        notified: [...zone.notified, ...own.notified],
        primaries: withKey(zone.primaries, own.primaryKey),
      };
    });
    return { keys: keysIn(database, companion?.place ?? place), zones: taken, notes: [] };
  } finally {
    database?.close();
  }
}

function readDatabase({ value, place }: Setting, around: Surroundings): Read {
  const database = openDatabase(around.files.locate(value), 'zones', place);
  try {
    const zones = database.domains().map((domain) => readDomain(domain, database, place, around));
    return { keys: keysIn(database, place), zones, notes: [] };
  } finally {
    database.close();
  }
}

function keysIn(database: PowerDnsDatabase | undefined, place: Place): KeyStatement[] {
  return (database?.tsigKeys() ?? []).map(({ name, algorithm, secret }) => ({ name, algorithm, secret, place }));
}

function readDomain(domain: DomainRow, database: PowerDnsDatabase, place: Place, around: Surroundings): ZoneStatement {
  const name = zoneNameOf(domain.name);
  const kind = domain.type.toUpperCase();
  const { primaryKey, ...own } = ownFacts(domain.name, place, kind, database, around);
  const base = { name, place, primaries: [], ...own };
  if (kind === 'SLAVE' || kind === 'SECONDARY' || kind === 'CONSUMER') {
    const primaries = withKey(serversOf(domain.master ?? '', place), primaryKey);
    const { signing: _, ...unsigned } = base;
    return {
      ...unsigned,
      primaries,
      role: kind === 'CONSUMER' ? 'catalog' : 'secondary',
      ...(primaries.length === 0 && { refusal: NO_PRIMARIES }),
    };
  }
  if (kind === 'PRODUCER') {
    return { ...base, role: 'primary', refusal: madeCatalog('PowerDNS') };
  }
  const read = zoneText(name, database.records(domain));
  around.octets += read.source && 'text' in read.source ? read.source.text.length : 0;
  if (around.octets > MOST_OCTETS)
    throw faultAt(place, `the database has more than ${MOST_OCTETS / 2 ** 20} MiB of records`);
  return { ...base, role: 'primary', ...read };
}

interface OwnFacts extends Pick<ZoneStatement, 'notified' | 'grants' | 'updates' | 'signing'> {
  /** The key with which transfers from the primaries are signed. */
  readonly primaryKey: string | undefined;
}

/** What metadata and settings say about a zone. */
function ownFacts(
  name: string,
  place: Place,
  kind: string,
  database: PowerDnsDatabase | undefined,
  { settings, notes }: Surroundings,
): OwnFacts {
  const metadata = database?.metadata({ name }) ?? [];
  const of = (wanted: string): string[] =>
    metadata.filter((row) => row.kind.toUpperCase() === wanted).map(({ content }) => content);
  const isTold = kind === 'MASTER' || kind === 'PRIMARY';
  const told = [...of('ALSO-NOTIFY'), ...(isTold ? [settings.get('also-notify')?.value ?? ''] : [])];
  const keys = of('TSIG-ALLOW-AXFR').map((key): Grant => ({ key, place }));
  const from = [...of('ALLOW-AXFR-FROM'), settings.get('allow-axfr-ips')?.value ?? ''];
  const grants =
    settings.get('disable-axfr')?.value === 'yes' ? [] : [...keys, ...networksOf(from.join(','), name, place, notes)];
  for (const kindOf of [
    'NSEC3PARAM',
    'NSEC3NARROW',
    'LUA-AXFR-SCRIPT',
    'FORWARD-DNSUPDATE',
    'SOA-EDIT',
    'SOA-EDIT-DNSUPDATE',
  ]) {
    for (const content of of(kindOf))
      notes.push({ kind: 'none', place, text: `zone ${name}: ${kindOf} ${content}: no equivalent` });
  }
  const takesUpdates = settings.get('dnsupdate')?.value === 'yes';
  const updates = takesUpdates ? of('TSIG-ALLOW-DNSUPDATE').map((key) => ({ key, place })) : [];
  const updaters = [...of('ALLOW-DNSUPDATE-FROM'), settings.get('allow-dnsupdate-from')?.value ?? ''].join(' ').trim();
  if (updates.length > 0 && updaters !== '') {
    const text = `zone ${name}: its keys may update from any address, not from ${updaters} only`;
    notes.push({ kind: 'none', place, text });
  }
  const signers = database?.cryptoKeys({ name }) ?? [];
  const stored = signers.map(({ flags, content }) => ({ flags, text: content }));
  return {
    notified: told.flatMap((text) => serversOf(text, place)),
    grants,
    updates,
    primaryKey: of('AXFR-MASTER-TSIG')[0],
    ...(stored.length > 0 && { signing: { place, keys: stored } }),
  };
}

/** The machine itself stands there by default, for the operator's own tools. */
function networksOf(text: string, zone: string, place: Place, notes: Note[]): Grant[] {
  return text.split(/[\s,;]+/).flatMap((each): Grant[] => {
    if (each === '') return [];
    const network = parseNetwork(each);
    if (network && isLoopback(network.address)) return [];
    if (network) return [network.bits === 0 ? { text: each, place } : { network, text: each, place }];
    notes.push({
      kind: 'none',
      place,
      text: `zone ${zone}: ALLOW-AXFR-FROM ${each}: only addresses and networks may transfer`,
    });
    return [];
  });
}

/** `192.0.2.1`, `192.0.2.1:5300`, `[2001:db8::1]:5300`, separated by commas or spaces. */
function serversOf(text: string, place: Place): ServerStatement[] {
  return text.split(/[\s,;]+/).flatMap((each): ServerStatement[] => {
    if (each === '') return [];
    if (parseIP(each)) return [{ address: each, place }];
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d+))?$/.exec(each) ?? [];
    const address = bracketed ?? plain ?? '';
    if (!parseIP(address)) throw faultAt(place, `${each} is not the address of a server`);
    return [{ address, port: port === undefined ? undefined : readPort(port, place), place }];
  });
}

function withKey(servers: readonly ServerStatement[], key: string | undefined): ServerStatement[] {
  return servers.map((server) => ({ ...server, key: server.key ?? key }));
}
