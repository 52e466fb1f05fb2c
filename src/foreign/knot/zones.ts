/** Zones of knot.conf. */
import { type Network, parseNetwork } from '../../base/ip.js';
import type { Grant, Note, ServerStatement, UpdateStatement, ZoneStatement } from '../configuration.js';
import type { ConfigurationFiles } from '../files.js';
import { faultAt, type Place } from '../place.js';
import { localZoneNote, madeCatalog, zoneNameOf } from '../zones.js';
import type { Entry, Item } from './items.js';

export type Remote = ServerStatement & { readonly network: Network };

export interface Acl {
  readonly id: string;
  readonly place: Place;
  readonly addresses: readonly string[];
  readonly keys: readonly string[];
  readonly remotes: readonly Remote[];
  readonly actions: readonly string[];
  readonly isDenied: boolean;
  readonly updateTypes: readonly string[];
  readonly updateOwner: string | undefined;
  readonly updateMatch: string | undefined;
  readonly updateNames: readonly string[];
}

export interface ZoneSurroundings {
  readonly files: ConfigurationFiles;
  readonly storage: string;
  readonly templates: ReadonlyMap<string, Entry>;
  readonly remotes: ReadonlyMap<string, readonly Remote[]>;
  readonly acls: ReadonlyMap<string, Acl>;
  /** Whether the servers that are told of changes may transfer. */
  readonly isAutomatic: boolean;
  readonly notes: Note[];
}

const DEFAULT_TEMPLATE = 'default';
const DEFAULT_FILE = '%s.zone';

/** What the items of a zone and of its template say. */
class Items {
  readonly #levels: readonly (readonly Item[])[];

  constructor(
    entry: Entry,
    templates: ReadonlyMap<string, Entry>,
    readonly place: Place,
  ) {
    const named = entry.items.find(({ name }) => name === 'template');
    const template = templates.get(named?.values[0] ?? DEFAULT_TEMPLATE);
    if (named && !template) throw faultAt(named.place, `there is no template ${named.values[0]}`);
    this.#levels = [entry.items, template?.items ?? []];
  }

  /** Those of the zone, or those of the template when it has none. */
  of(name: string): { readonly values: readonly string[]; readonly place: Place } {
    for (const level of this.#levels) {
      const found = level.filter((item) => item.name === name);
      if (found.length > 0) return { values: found.flatMap(({ values }) => values), place: found[0]!.place };
    }
    return { values: [], place: this.place };
  }

  last(name: string): string | undefined {
    return this.of(name).values.at(-1);
  }
}

export function readZone(entry: Entry, around: ZoneSurroundings): ZoneStatement[] {
  const { place } = entry;
  const [first] = entry.items;
  if (first?.name !== 'domain' || first.values[0] === undefined)
    throw faultAt(place, 'an entry of zone begins with its domain');
  const name = zoneNameOf(first.values[0]);
  const local = localZoneNote({ name, place });
  if (local) {
    around.notes.push(local);
    return [];
  }
  const items = new Items(entry, around.templates, place);
  const notified = remotesOf(items, 'notify', around);
  const primaries = remotesOf(items, 'master', around);
  const { grants, updates } = readAcls(name, items, notified, around);
  const base = { name, place, notified, primaries, grants, updates };
  const catalog = items.last('catalog-role') ?? 'none';
  if (catalog === 'generate') {
    return [{ ...base, role: 'primary', refusal: madeCatalog('Knot') }];
  }
  if (primaries.length > 0) return [{ ...base, role: catalog === 'interpret' ? 'catalog' : 'secondary' }];
  const file = items.last('file') ?? DEFAULT_FILE;
  const storage = around.files.locate(items.last('storage') ?? around.storage);
  const source = { file: around.files.locate(fillIn(file, name), storage) };
  noteJournal(name, items, around);
  if (!['on', 'true'].includes(items.last('dnssec-signing') ?? '')) return [{ ...base, role: 'primary', source }];
  const { place: signed } = items.of('dnssec-signing');
  const remedy = `Knot keeps them in its own database. Take the zone over with its signatures: zoneplane zone transfer ${name} --from ADDRESS --presigned`;
  return [{ ...base, role: 'primary', source, signing: { place: signed, remedy } }];
}

/** Changes may be in the journal only. */
function noteJournal(zone: string, items: Items, { notes }: ZoneSurroundings): void {
  const sync = items.of('zonefile-sync');
  if (sync.values.at(-1) !== '-1') return;
  const text = `zone ${zone}: with zonefile-sync -1 its file lacks what was changed since: knotc zone-flush ${zone} +force`;
  notes.push({ kind: 'none', place: sync.place, text });
}

function remotesOf(items: Items, name: string, { remotes }: ZoneSurroundings): Remote[] {
  const { values, place } = items.of(name);
  return values.flatMap((id) => {
    const found = remotes.get(id);
    if (!found) throw faultAt(place, `there is no remote ${id}`);
    return found;
  });
}

/** `%s` is the name of the zone, `%l[N]` a label from the end, `%c[N]` or `%c[N-M]` characters of it. */
function fillIn(file: string, zone: string): string {
  const labels = zone.split('.');
  return file
    .replaceAll('%s', zone)
    .replaceAll(/%l\[(\d)\]/g, (_, at: string) => labels.at(-1 - Number(at)) ?? '')
    .replaceAll(/%c\[(\d+)(?:-(\d+))?\]/g, (_, from: string, to = from) => zone.slice(Number(from), Number(to) + 1));
}

interface Allowed {
  readonly grants: readonly Grant[];
  readonly updates: readonly UpdateStatement[];
}

function readAcls(zone: string, items: Items, notified: readonly Remote[], around: ZoneSurroundings): Allowed {
  const { values, place } = items.of('acl');
  const grants: Grant[] = around.isAutomatic
    ? notified.map(({ network, address, key, place: at }) => ({ network, text: address, key, place: at }))
    : [];
  const updates: UpdateStatement[] = [];
  for (const id of values) {
    const acl = around.acls.get(id);
    if (!acl) throw faultAt(place, `there is no acl ${id}`);
    if (acl.isDenied) {
      // The first one that fits holds.
      const text = `acl ${id}: what is denied has no equivalent, so what follows it is not allowed`;
      around.notes.push({ kind: 'none', place: acl.place, text });
      break;
    }
    if (acl.actions.includes('transfer')) grants.push(...grantsOf(acl, around.notes));
    if (acl.actions.includes('update')) updates.push(...updatesOf(acl, zone, around.notes));
  }
  return { grants, updates };
}

/** Each address with each key; remotes have their own. */
function grantsOf({ addresses, keys, remotes, place }: Acl, notes: Note[]): Grant[] {
  const own = remotes.map(({ network, address, key }) => ({ network, text: address, key, place }));
  if (remotes.length > 0 && addresses.length + keys.length === 0) return own;
  const places = addresses.flatMap((text): Pick<Grant, 'network' | 'text'>[] => {
    const network = parseNetwork(text);
    if (!network) {
      notes.push({ kind: 'none', place, text: `${text}: only addresses and networks with a prefix may transfer` });
      return [];
    }
    return [network.bits === 0 ? { text } : { network, text }];
  });
  const from = addresses.length === 0 ? [{ text: 'any' }] : places;
  const signed = keys.length === 0 ? [undefined] : keys;
  return [...own, ...from.flatMap((where) => signed.map((key) => ({ ...where, key, place })))];
}

function updatesOf(acl: Acl, zone: string, notes: Note[]): UpdateStatement[] {
  const { id, addresses, keys, remotes, place, updateOwner, updateMatch, updateNames, updateTypes } = acl;
  const signers = [...keys, ...remotes.flatMap(({ key }) => key ?? [])];
  const none = (text: string): UpdateStatement[] => {
    notes.push({ kind: 'none', place, text: `acl ${id}: ${text}` });
    return [];
  };
  if (signers.length === 0) return none('updates without a signature are not taken; give the client a key');
  if (addresses.length > 0) {
    const text = `acl ${id}: its keys may update from any address, not from ${addresses.join(', ')} only`;
    notes.push({ kind: 'none', place, text });
  }
  const types = updateTypes.length === 0 ? {} : { types: updateTypes };
  if (updateOwner === undefined) return signers.map((key) => ({ key, ...types, place }));
  if (updateMatch === 'pattern') return none('names are not compared by patterns of labels here');
  const full = (name: string): string =>
    (name.endsWith('.') ? name.slice(0, -1) : name === '@' ? zone : `${name}.${zone}`).toLowerCase();
  const within = (name: string): string[] => {
    if (updateMatch === 'equal') return [name];
    return updateMatch === 'sub' ? [`*.${name}`] : [name, `*.${name}`];
  };
  return signers.flatMap((key): UpdateStatement[] => {
    const owners =
      updateOwner === 'key'
        ? [key.replace(/\.$/, '').toLowerCase()]
        : updateOwner === 'zone'
          ? [zone]
          : updateNames.map(full);
    if (owners.length === 0) return none('it names nothing that may be updated');
    // There it is a label like others.
    if (owners.some((name) => name.includes('*'))) return none('a * would stand for all names here');
    return [{ key, names: owners.flatMap(within), ...types, place }];
  });
}
