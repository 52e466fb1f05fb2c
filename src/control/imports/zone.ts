/**
 * Use cases: a zone file becomes a zone. The file is read, checked and stored in one pass and one transaction, which is
 * rolled back on errors: the existing zone stays unchanged, even if the process dies.
 */
import { statSync } from 'node:fs';
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import type { Issue } from '../../base/result.js';
import { Type } from '../../dns/codes.js';
import { printName } from '../../dns/name.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import { nextSerial, serialIsAfter } from '../../dns/serial.js';
import { AUTOMATIC_TTL } from '../../dns/ttl.js';
import { detectOrigin, statedOrigin, type ZoneText } from '../../dns/zonefile/source.js';
import { settingsOfNewZones } from '../../store/access/dns-settings.js';
import { factsOfSet, notableSets, recordImporter, setTtlOfSet } from '../../store/records/import.js';
import { proxiedOwners, removeRecordsOfZone } from '../../store/records/records.js';
import { type ZoneChange, type ZoneRow, zonesOfName } from '../../store/zones/zones.js';
import { chooseAccount, requireZone } from '../access/access.js';
import { parseZoneName } from '../rules/names.js';
import { commitAlone, type Draft } from '../write/commit.js';
import type { Context } from '../write/context.js';
import { zoneFailure } from '../zones/errors.js';
import { zoneItem } from '../zones/item.js';
import { loopbackEdge, shadowsParent, testNameServers } from '../zones/notices.js';
import { addZone } from '../zones/write.js';
import { readImportOnThread } from './pipe.js';
import { type ImportEnd, type ImportOrder, readImport } from './reader.js';
import { pooledRandom } from './row.js';

export interface ImportInput {
  /** A zone file by path, or its text. */
  readonly source: ZoneText;
  /** Name of the zone; default: the owner of the file's SOA. */
  readonly origin?: string;
  /** Whether to omit SOA and apex NS of the file and use the service's. */
  readonly automaticSoa?: boolean;
  /** Take a signed zone without its signatures and keys; otherwise it is refused. */
  readonly stripDnssec?: boolean;
  /** Whether to replace a zone with the same name. If not, an existing zone is an error. */
  readonly replace?: boolean;
  /** Whether proxiable records become proxied. */
  readonly proxied?: boolean;
  /** Default: the actor's first account. */
  readonly accountId?: string;
  readonly onProgress?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly records: number;
  /** Octets of the source including included files. */
  readonly octets: number;
}

export interface ImportResult {
  /** Whether the zone was stored; false when there are errors, and then nothing has changed. */
  readonly imported: boolean;
  readonly zoneId?: string;
  readonly name?: string;
  readonly serial?: number;
  /** Records stored. */
  readonly records: number;
  /** Number of records omitted because the file contains them twice. */
  readonly duplicates: number;
  /** Errors first. */
  readonly issues: readonly Issue[];
}

/** Ends the transaction of a file with errors; never leaves this module. */
class FileHasErrors extends Error {
  constructor(readonly issues: readonly Issue[]) {
    super('the file has errors');
  }
}

/** Creates or replaces a whole zone atomically. Errors of the file are returned as issues; refusals are thrown. */
export async function importZone(ctx: Context, input: ImportInput): Promise<ImportResult> {
  const zone = nameOfZone(input);
  if ('severity' in zone) return { imported: false, records: 0, duplicates: 0, issues: [zone] };
  try {
    const { value } = await commitAlone(ctx, (draft) => storeFile(ctx, draft, zone, input));
    // Moves the data of a large import from the write-ahead log into the database now, before a later writer has to.
    if (value.records >= CHECKPOINT_FROM) ctx.store.checkpoint();
    return value;
  } catch (error) {
    if (!(error instanceof FileHasErrors)) throw error;
    return { imported: false, name: zone.name, records: 0, duplicates: 0, issues: error.issues };
  }
}

const CHECKPOINT_FROM = 10_000;

interface ImportedName {
  readonly name: string;
  readonly apex: Uint8Array;
}

function nameOfZone({ source, origin }: ImportInput): ImportedName | Issue {
  const file = 'file' in source ? { file: source.file } : {};
  const detected = origin ?? apexText(detectOrigin(source));
  if (detected === undefined) {
    const message = 'the file does not say which zone it is: it has no SOA and no $ORIGIN; name the zone';
    return { severity: 'error', code: 'no-origin', message, ...file };
  }
  const parsed = parseZoneName(detected);
  if ('name' in parsed) return parsed;
  return {
    severity: 'error',
    code: 'bad-origin',
    message: `'${detected}' is not a zone name: ${parsed.reason}`,
    ...file,
  };
}

function apexText(apex: Uint8Array | undefined): string | undefined {
  return apex && printName(apex);
}

function storeFile(ctx: Context, draft: Draft, name: ImportedName, input: ImportInput): ImportResult {
  const { zone, isNew } = prepareZone(ctx, draft, name, input);
  if (!isNew) {
    draft.noteReplacement(zone.seq);
    removeRecordsOfZone(ctx.store, zone.seq);
  }
  const stored = storeRecords(ctx, draft, zone, input);
  const issues = [...stored.issues, ...noticesOf(name, input)];
  if (stored.records > 0 && !issues.some(isError)) issues.push(...settleSets(ctx, zone, stored));
  if (issues.some(isError)) throw new FileHasErrors(issues.sort(errorsFirst));
  const serial = input.automaticSoa ? (isNew ? zone.serial : nextSerial(zone.serial)) : stored.soa!.serial;
  if (!isNew && !input.automaticSoa && !serialIsAfter(serial, zone.serial)) issues.push(staleSerial(serial, zone));
  const nameServerMode = !input.automaticSoa && stored.apexNameServers > 0 ? 'records' : 'service';
  const columns = input.automaticSoa ? defaultSoa(ctx, zone) : stored.soa!.columns;
  draft.setZone(zone.seq, { ...columns, serial, name_server_mode: nameServerMode, record_count: stored.records });
  if (!isNew) draft.noteZone(zone.seq, 'zone-replaced');
  const after = draft.zone(zone.seq)!;
  issues.push(...servedNotices(ctx, after, !input.automaticSoa && stored.apexNameServers === 0));
  const item = zoneItem(ctx, after);
  const { records, duplicates } = stored;
  draft.audit({ action: 'zone.import', zone: zone.id, object: zone.id, after: { ...item, records, duplicates } });
  return {
    imported: true,
    zoneId: item.id,
    name: item.asciiName,
    serial,
    records,
    duplicates,
    issues: issues.sort(errorsFirst),
  };
}

/** What is no fault of the file, but often not meant. */
function noticesOf({ name }: ImportedName, { source, origin }: ImportInput): Issue[] {
  const issues: Issue[] = [];
  if (origin === undefined && 'file' in source && statedOrigin(source) === undefined) {
    const message = `the zone was named ${name} after its file, which does not say its name; --origin names another`;
    issues.push({ severity: 'warning', code: 'guessed-origin', message, file: source.file });
  }
  return issues;
}

/** The same about how the zone is served. */
function servedNotices({ store, settings }: Context, zone: ZoneRow, isWithout: boolean): Issue[] {
  const { name, seq } = zone;
  const notices = [
    ...shadowsParent(store, zone),
    ...(zone.name_server_mode === 'service'
      ? testNameServers(settings.nameServers, `the name servers of ${name}`)
      : []),
    ...(proxiedOwners(store, seq, 1).length > 0 ? loopbackEdge(settings, `the proxied names of ${name}`) : []),
  ];
  const issues = notices.map(({ code, text, remedy }): Issue => {
    return { severity: 'warning', code, message: `${text}. ${remedy}` };
  });
  if (!isWithout) return issues;
  const message = `${name} has no NS records at its apex; it is served with those of this service`;
  return [{ severity: 'warning', code: 'service-name-servers', message }, ...issues];
}

/** The SOA of a zone without one of its own. */
function defaultSoa(ctx: Context, { account }: ZoneRow): ZoneChange {
  const settings = settingsOfNewZones(ctx.store, account);
  return {
    soa_mname: settings.soa_mname,
    soa_rname: settings.soa_rname,
    soa_refresh: settings.soa_refresh,
    soa_retry: settings.soa_retry,
    soa_expire: settings.soa_expire,
    soa_minimum: settings.soa_minimum,
    soa_ttl: settings.soa_ttl,
  };
}

function isError({ severity }: Issue): boolean {
  return severity === 'error';
}

function errorsFirst(a: Issue, b: Issue): number {
  return Number(isError(b)) - Number(isError(a)) || (a.line ?? 0) - (b.line ?? 0);
}

function staleSerial(serial: number, zone: ZoneRow): Issue {
  const message = `serial ${serial} does not come after the previous serial ${zone.serial}: secondaries will not notice the change`;
  return { severity: 'warning', code: 'stale-serial', message };
}

function prepareZone(
  ctx: Context,
  draft: Draft,
  { name, apex }: ImportedName,
  input: ImportInput,
): { readonly zone: ZoneRow; readonly isNew: boolean } {
  const account = chooseAccount(ctx, input.accountId);
  const known = zonesOfName(ctx.store, name);
  // Without a named account, a zone with a unique name is meant.
  const only =
    input.accountId === undefined && ctx.actor.superAdministrator && known.length === 1 ? known[0] : undefined;
  const zone = known.find((row) => row.account === account.seq) ?? only;
  if (!zone) return { zone: addZone(ctx, draft, { name, apex, account: account.seq, type: 'full' }), isNew: true };
  if (!input.replace) throw zoneFailure('importExists', { name });
  return { zone: requireZone(ctx, toHex(zone.id)), isNew: false };
}

interface Stored extends ImportEnd {
  readonly records: number;
  readonly duplicates: number;
}

/**
 * Files of this size or larger are read on their own thread, in octets; starting one takes as long as reading this
 * much.
 */
const LARGE_FILE_BYTES = 2 << 20;

function storeRecords(ctx: Context, draft: Draft, zone: ZoneRow, input: ImportInput): Stored {
  const order: ImportOrder = {
    source: input.source,
    apex: zone.apex,
    automaticSoa: input.automaticSoa ?? false,
    proxied: input.proxied ?? false,
    stripDnssec: input.stripDnssec ?? false,
    limits: ctx.settings.limits,
  };
  const reading = isLarge(input) ? readImportOnThread(order) : readImport(order);
  const insert = recordImporter(ctx.store, zone.seq, draft.now);
  const pool = pooledRandom(ctx.random);
  let records = 0;
  let rows = 0;
  let step = reading.next();
  try {
    for (; !step.done; step = reading.next()) {
      for (const row of step.value.rows) if (insert(makeId(ctx.clock.nowUs(), pool), row)) records++;
      rows += step.value.rows.length;
      input.onProgress?.({ records: step.value.parsed, octets: step.value.octetsRead });
    }
  } catch (error) {
    reading.return(NOTHING_READ);
    throw error;
  }
  return { ...step.value, records, duplicates: rows - records };
}

const NOTHING_READ: ImportEnd = { issues: [], soa: undefined, apexNameServers: 0, unevenSets: [], longestRdata: 0 };

function isLarge({ source }: ImportInput): boolean {
  if ('text' in source) return false;
  // The reader reports a missing file.
  return (statSync(source.file, { throwIfNoEntry: false })?.size ?? 0) >= LARGE_FILE_BYTES;
}

/** The largest size of an RRset in a message, leaving room for the question and EDNS, in octets (RFC 1035 §4.2.2). */
const MOST_RRSET_OCTETS = 65_000;
const RR_OVERHEAD = 12;

/**
 * Applies rules about whole RRsets to the stored rows: one TTL for each, the lowest (RFC 2181 §5.2; signatures have
 * that of the type they cover), and none too large to be sent.
 */
function settleSets(ctx: Context, zone: ZoneRow, { unevenSets, longestRdata }: Stored): Issue[] {
  const { store } = ctx;
  const atLeast = Math.floor(MOST_RRSET_OCTETS / (longestRdata + RR_OVERHEAD));
  const uneven = unevenSets.map(([ownerKey, type]) => ({ zone: zone.seq, ownerKey, type }));
  const issues: Issue[] = [];
  for (const set of [...uneven, ...notableSets(store, zone.seq, atLeast)]) {
    const facts = factsOfSet(store, set, RR_OVERHEAD, AUTOMATIC_TTL);
    if (facts.lowestTtl !== undefined && set.type !== Type.rrsig) setTtlOfSet(store, set, facts.lowestTtl);
    if (facts.octets > MOST_RRSET_OCTETS) {
      const what = `the ${typeMnemonic(set.type)} records of ${facts.name}`;
      const message = `${what} take ${facts.octets} octets; a message holds ${MOST_RRSET_OCTETS}`;
      issues.push({ severity: 'error', code: 'rrset-too-large', message });
    }
  }
  return issues;
}
