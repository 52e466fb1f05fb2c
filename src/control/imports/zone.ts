/**
 * Use cases: a zone file becomes a zone. The file is read, checked and stored in one pass, aside from the zone
 * (stage.ts), which gets the records in one write: the existing zone stays unchanged on errors, even if the process dies.
 */

import { toHex } from '../../base/bytes.js';
import { invariant } from '../../base/errors.js';
import type { Issue } from '../../base/result.js';
import { printName } from '../../dns/name.js';
import { nextSerial, serialIsAfter } from '../../dns/serial.js';
import { detectOrigin, statedOrigin, type ZoneText } from '../../dns/zonefile/source.js';
import { signatureState } from '../../serving/zone-state.js';
import { settingsOfNewZones } from '../../store/access/dns-settings.js';
import { dropRecordSet, useRecordSet } from '../../store/records/record-sets.js';
import { proxiedOwners } from '../../store/records/records.js';
import { type ZoneChange, type ZoneRow, zonesOfName } from '../../store/zones/zones.js';
import { signFirst } from '../dnssec/plan-signatures.js';
import { chooseAccount, requireZone } from '../guard/access.js';
import { commitAlone, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { commitPrepared, OUTDATED, type Prepared } from '../kernel/prepared.js';
import { mayReplace, planReplacement } from '../kernel/replacement.js';
import type { Replacement } from '../kernel/touched-zone.js';
import { planRemoval } from '../kernel/unused-records.js';
import { parseZoneName } from '../rules/names.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { zoneItem } from '../zones/item.js';
import { loopbackEdge, shadowsParent, testNameServers } from '../zones/notices.js';
import { addZone } from '../zones/write.js';
import { boundsFor, type ImportOrder } from './reader.js';
import { applySignatures, type ReadSignatures, readSignatures, type SignatureTreatment } from './signatures.js';
import { giveUp, type ImportProgress, isError, isLarge, type Staged, stageAtOnce, stageInParts } from './stage.js';

export type { ImportProgress } from './stage.js';

export interface ImportInput {
  /** A zone file by path, or its text. */
  readonly source: ZoneText;
  /** Name of the zone; default: the owner of the file's SOA. */
  readonly origin?: string;
  /** Whether to omit SOA and apex NS of the file and use the service's. */
  readonly automaticSoa?: boolean;
  /** What becomes of signatures in the file; default: it must have none. */
  readonly signatures?: SignatureTreatment;
  /** Whether to replace a zone with the same name. If not, an existing zone is an error. */
  readonly replace?: boolean;
  /** Whether proxiable records become proxied. */
  readonly proxied?: boolean;
  /** Default: the actor's first account. */
  readonly accountId?: string;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Ends the import of a large file while it is read: nothing changes, and the reason is thrown. */
  readonly signal?: AbortSignal;
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
  const name = nameOfZone(input);
  if ('severity' in name) return { imported: false, records: 0, duplicates: 0, issues: [name] };
  const { signatures: treatment = { kind: 'refuse' } } = input;
  const order: ImportOrder = {
    source: input.source,
    apex: name.apex,
    automaticSoa: input.automaticSoa ?? false,
    proxied: input.proxied ?? false,
    signatures: ORDERS[treatment.kind],
    limits: ctx.settings.limits,
    bounds: boundsFor(ctx, chooseAccount(ctx, input.accountId).seq),
  };
  const signatures = await readSignatures(ctx.clock, input.source, name.apex, treatment);
  if (signatures.issues.some(isError)) {
    const issues = [...signatures.issues].sort(errorsFirst);
    return { imported: false, name: name.name, records: 0, duplicates: 0, issues };
  }
  const work: ImportWork = { name, input, order, signatures };
  try {
    const isShort = !isLarge(order) && !makesSignatures(ctx, work);
    return isShort ? await importAtOnce(ctx, work) : await importInParts(ctx, work);
  } catch (error) {
    if (!(error instanceof FileHasErrors)) throw error;
    return { imported: false, name: name.name, records: 0, duplicates: 0, issues: error.issues };
  }
}

const ORDERS = { refuse: 'refuse', strip: 'strip', presigned: 'apart', sign: 'replace' } as const;

interface ImportWork {
  readonly name: ImportedName;
  readonly input: ImportInput;
  readonly order: ImportOrder;
  readonly signatures: ReadSignatures;
}

/** Whether signatures are to be made, for which others would wait. */
function makesSignatures({ store }: Context, { name: { name }, signatures: { treatment } }: ImportWork): boolean {
  return treatment.kind === 'sign' || zonesOfName(store, name).some((zone) => signatureState(zone) !== 'none');
}

async function importAtOnce(ctx: Context, work: ImportWork): Promise<ImportResult> {
  const { value } = await commitAlone(ctx, (draft) => {
    const place = prepareZone(ctx, draft, work);
    return switchIn(ctx, draft, work, place, stageAtOnce(ctx, work.order, draft.now, work.input.onProgress));
  });
  return value;
}

/** Others can write while the records are stored; the zone gets them in one short write. */
async function importInParts(ctx: Context, work: ImportWork): Promise<ImportResult> {
  const zone = await tryPlace(ctx, work);
  const { onProgress, signal } = work.input;
  const staged = await stageInParts(ctx, work.order, onProgress, signal);
  let used = false;
  try {
    const value = await switchPlanned(ctx, work, staged, zone);
    used = !ctx.dryRun;
    return value;
  } finally {
    if (!used) await giveUp(ctx, staged.set);
  }
}

/** The zone as it is, or would be added. Refuses what would be refused at the end. */
async function tryPlace(ctx: Context, work: ImportWork): Promise<ZoneRow> {
  const { outcome: _, ...trial } = ctx;
  const { value } = await commitAlone({ ...trial, dryRun: true }, (draft) => prepareZone(trial, draft, work));
  return value.zone;
}

/** What a replacement changes is found out and signed before the write, and anew when settings or keys change meanwhile. */
async function switchPlanned(ctx: Context, work: ImportWork, staged: Staged, place: ZoneRow): Promise<ImportResult> {
  const { treatment, keys } = work.signatures;
  const isUsable = !staged.issues.some(isError);
  const rowAfter = (zone: ZoneRow): ZoneRow => ({ ...zone, ...columnsAfter(ctx, work, zone, staged) });
  const { value } = await commitPrepared(ctx, {
    async plan(outdated): Promise<Prepared | undefined> {
      if (isUsable && treatment.kind === 'sign') {
        return { signatures: await signFirst(ctx, rowAfter(place), keys, staged.set) };
      }
      const zone = isUsable && treatment.kind === 'refuse' ? zoneToReplace(ctx, work) : undefined;
      return (
        zone && { replacement: await planReplacement(ctx, zone, rowAfter(zone), outdated?.replacement?.signatures) }
      );
    },
    make(draft, plan) {
      const replacement = plan?.replacement;
      const zone = replacement && zoneToReplace(ctx, work);
      if (replacement && !(zone && mayReplace(ctx, rowAfter(zone), replacement))) return OUTDATED;
      return switchIn(ctx, draft, work, prepareZone(ctx, draft, work), staged, replacement);
    },
    read: (result) => result,
  });
  return value;
}

interface ImportedName {
  readonly name: string;
  readonly apex: Uint8Array;
}

function nameOfZone({ source, origin }: ImportInput): ImportedName | Issue {
  const file = 'file' in source ? { file: source.file } : {};
  const detected = origin ?? apexText(detectOrigin(source));
  if (detected === undefined) {
    const message = 'the file does not say which zone it is: it has no SOA and no $ORIGIN; name the zone with --origin';
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

/** Gives the staged records to the zone. */
function switchIn(
  ctx: Context,
  draft: Draft,
  work: ImportWork,
  { zone, isNew }: Place,
  stored: Staged,
  replacement?: Replacement,
): ImportResult {
  const { store } = ctx;
  const { name, input, signatures } = work;
  const issues = [...signatures.issues, ...stored.issues, ...noticesOf(name, input)];
  if (issues.some(isError)) throw new FileHasErrors(issues.sort(errorsFirst));
  const columns = columnsAfter(ctx, work, zone, stored);
  const serial = isNew && input.automaticSoa ? zone.serial : columns.serial;
  if (!isNew) draft.noteReplacement(zone.seq, replacement);
  invariant(useRecordSet(store, stored.set), 'the staged records are there');
  if (!isNew && !input.automaticSoa && !serialIsAfter(serial, zone.serial)) issues.push(staleSerial(serial, zone));
  draft.setZone(zone.seq, { ...columns, serial });
  if (!dropRecordSet(store, zone.record_set)) planRemoval(ctx);
  if (!isNew) draft.noteZone(zone.seq, 'zone-replaced');
  const faults = applySignatures(ctx, draft, draft.zone(zone.seq)!, signatures);
  if (faults.length > 0) throw new FileHasErrors(faults);
  const after = draft.zone(zone.seq)!;
  issues.push(...servedNotices(ctx, after, !input.automaticSoa && stored.apexNameServers === 0));
  const item = zoneItem(ctx, after);
  const { records, duplicates } = stored;
  draft.event({ kind: 'zone.import', zone, after: { ...item, records, duplicates } });
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

/** What of its row a zone gets with the records. */
function columnsAfter(ctx: Context, { input }: ImportWork, zone: ZoneRow, stored: Staged) {
  const { soa, apexNameServers, records, set } = stored;
  return {
    ...(input.automaticSoa ? defaultSoa(ctx, zone) : soa!.columns),
    serial: input.automaticSoa ? nextSerial(zone.serial) : soa!.serial,
    name_server_mode: !input.automaticSoa && apexNameServers > 0 ? ('records' as const) : ('service' as const),
    record_count: records,
    record_set: set,
  };
}

/** What is not a fault of the file, but often not meant. */
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

function errorsFirst(a: Issue, b: Issue): number {
  return Number(isError(b)) - Number(isError(a)) || (a.line ?? 0) - (b.line ?? 0);
}

function staleSerial(serial: number, zone: ZoneRow): Issue {
  const message = `serial ${serial} does not come after the previous serial ${zone.serial}: secondaries will not notice the change`;
  return { severity: 'warning', code: 'stale-serial', message };
}

interface Place {
  readonly zone: ZoneRow;
  readonly isNew: boolean;
}

function prepareZone(ctx: Context, draft: Draft, work: ImportWork): Place {
  const known = zoneToReplace(ctx, work);
  if (known) return { zone: known, isNew: false };
  const { seq: account } = chooseAccount(ctx, work.input.accountId);
  return { zone: addZone(ctx, draft, { ...work.name, account, type: 'full' }), isNew: true };
}

/** The zone whose records are replaced; undefined when there is none yet. */
function zoneToReplace(ctx: Context, { name: { name }, input }: ImportWork): ZoneRow | undefined {
  const account = chooseAccount(ctx, input.accountId);
  const known = zonesOfName(ctx.store, name);
  // Without a named account, a zone with a unique name is meant.
  const only =
    input.accountId === undefined && ctx.actor.superAdministrator && known.length === 1 ? known[0] : undefined;
  const zone = known.find((row) => row.account === account.seq) ?? only;
  if (!zone) return undefined;
  if (!input.replace) throw zoneFailure('importExists', { name });
  if (zone.type === 'secondary') throw zoneFailure('importSecondary', { name });
  return requireZone(ctx, toHex(zone.id));
}
