/**
 * The end of a write, for one zone: its serial, the change log with the difference for resolvers, and the journal for
 * undoing the edits. Edits that resolvers do not see (a comment, the origin of a proxied name) do not change the
 * serial.
 */
import { equalBytes, toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import { nextSerial } from '../../dns/serial.js';
import { isSameDenial } from '../../dnssec/denial.js';
import { type Difference, soaOf } from '../../serving/difference.js';
import { isPresigned } from '../../serving/signed.js';
import type { ServingZone } from '../../serving/zone.js';
import {
  type ChangedRR,
  type ChangeKind,
  MOST_CHANGED_RRS,
  MOST_CHANGED_SIGNED_RRS,
  type SoaRR,
} from '../../store/log/changes.js';
import { findZone, updateZone, type ZoneRow } from '../../store/zones/zones.js';
import { planZoneCertificate } from '../certificates/zone-certificate.js';
import { dnssecFailure } from '../dnssec/errors.js';
import { signZone } from '../dnssec/signing/sign-zone.js';
import { refreshTargetsSoon, reindexFlattened } from '../flatten/index.js';
import { planCatalogs } from '../schedule/catalogs.js';
import type { Context } from './context.js';
import { logChange, logEdit } from './log-rows.js';
import { differenceOf, ownersAfter, servedAfter, type TouchedZone } from './touched-zone.js';
import type { ZoneOutcome } from './zone-outcome.js';

/** `now`: microseconds since 1970. */
export function finishZone(ctx: Context, now: number, touched: TouchedZone): ZoneOutcome {
  const { store, settings } = ctx;
  const { before, derived } = touched;
  const row = findZone(store, before.seq);
  if (!row) return finishRemoved(ctx, now, before);
  if (touched.kind === 'zone-added' || before.served !== row.served) planCatalogs(ctx, row.account);
  const zone = servedAfter(store, touched, row, settings);
  const owners = ownersAfter(store, touched, zone);
  if (!derived) reindexFlattened(store, row, zone, touched, owners);
  const signed = signZone(ctx, touched, row, zone, owners);
  ctx.stock?.requireAllAtFirst();
  const difference = differenceOf(store, touched, zone, row, owners, signed?.difference);
  const dataRRs = difference ? [...difference.removed, ...difference.added] : [];
  if (isPresigned(zone) && !touched.signing.prepared) return finishFixed(ctx, now, touched, row, zone, difference);
  // An unknown difference counts as a difference.
  const kind = touched.kind ?? (difference === undefined || dataRRs.length > 0 ? 'rrs' : undefined);
  if (!derived) {
    // Names of which nobody knows are as many as with another setting.
    const knowsNames = touched.complete && touched.replacement === undefined;
    refreshTargetsSoon(store, row, knowsNames ? kind : 'zone-replaced', touched.owners);
    planZoneCertificate(ctx, row, touched);
  }
  const { version, serial } = nextState(touched, row, kind);
  updateZone(store, row.seq, { record_count: row.record_count + touched.records, version, serial });
  const serials = { serialFrom: kind === 'zone-added' ? undefined : before.serial, serial };
  const soas = kind === undefined || kind === 'zone-added' ? {} : soaDifference(touched.serving, zone, serial);
  const soaSignatures = signed?.finish(kind && serial) ?? [];
  const rrs = difference ? [...dataRRs, ...soaSignatures] : [];
  const most = signed ? MOST_CHANGED_SIGNED_RRS : MOST_CHANGED_RRS;
  const logged = difference && rrs.length <= most ? { complete: true, rrs } : { complete: false, rrs: [] };
  const change = kind && logChange(ctx, now, { zone: row.seq, kind, ...serials, ...soas, ...logged });
  if (!derived) logEdit(ctx, now, touched, row, { version, change, ...serials });
  const known = {
    rrs: [...soaChange(0, soas.soaFrom), ...soaChange(1, soas.soaTo), ...rrs],
    complete: difference !== undefined,
  };
  return { zone: row.seq, id: toHex(row.id), apex: row.apex, kind, change, ...serials, version, ...known };
}

/**
 * A zone that is signed elsewhere: nothing that it serves may change, not even its serial. Whether it is served may, and what
 * resolvers do not see.
 */
function finishFixed(
  ctx: Context,
  now: number,
  touched: TouchedZone,
  row: ZoneRow,
  zone: ServingZone,
  difference: Difference | undefined,
): ZoneOutcome {
  const { before, serving } = touched;
  const isSwitched = before.served !== row.served || before.expired !== row.expired;
  const isSame = isSwitched || (difference && difference.removed.length + difference.added.length === 0);
  if (!isSame || 'soaFrom' in soaDifference(serving, zone, row.serial) || !isSameDenial(serving.denial, zone.denial)) {
    throw dnssecFailure('presignedFixed', { zone: row.name });
  }
  const { serial } = row;
  const version = touched.derived ? row.version : row.version + 1;
  updateZone(ctx.store, row.seq, { record_count: row.record_count + touched.records, version });
  const serials = { serialFrom: before.serial, serial };
  const kind = isSwitched ? touched.kind : undefined;
  const change = kind && logChange(ctx, now, { zone: row.seq, kind, ...serials, complete: false, rrs: [] });
  if (!touched.derived) logEdit(ctx, now, touched, row, { version, change, ...serials });
  return {
    zone: row.seq,
    id: toHex(row.id),
    apex: row.apex,
    kind,
    change,
    ...serials,
    version,
    rrs: [],
    complete: !isSwitched,
  };
}

/** Clients hold the version of what they edit, so answers that changed with a target do not change it. */
function nextState(
  { before, derived }: TouchedZone,
  { version, serial }: ZoneRow,
  kind: ChangeKind | undefined,
): { readonly version: number; readonly serial: number } {
  // A zone keeps the serial that it was given in this write: a new or replaced one, and one that has a primary.
  const isGiven = kind === 'zone-added' || kind === 'zone-replaced' || serial !== before.serial;
  const moves = kind !== undefined && !isGiven;
  return { version: derived ? version : version + 1, serial: moves ? nextSerial(serial) : serial };
}

interface SoaDifference {
  readonly soaFrom?: SoaRR;
  readonly soaTo?: SoaRR;
}

function soaDifference(before: ServingZone, after: ServingZone, serial: number): SoaDifference {
  const [soaFrom, soaTo] = [soaOf(before), soaOf(after, serial)];
  return soaFrom.ttl === soaTo.ttl && equalBytes(soaFrom.rdata, soaTo.rdata) ? {} : { soaFrom, soaTo };
}

function soaChange(op: 0 | 1, soa: SoaRR | undefined): ChangedRR[] {
  return soa ? [{ op, owner_key: new Uint8Array(0), type: Type.soa, ...soa }] : [];
}

function finishRemoved(
  ctx: Context,
  now: number,
  { seq: zone, id, account, apex, serial: serialFrom }: ZoneRow,
): ZoneOutcome {
  refreshTargetsSoon(ctx.store, { apex }, 'zone-removed', new Map());
  planCatalogs(ctx, account);
  const kind = 'zone-removed';
  const change = logChange(ctx, now, {
    zone,
    kind,
    serialFrom: undefined,
    serial: undefined,
    complete: false,
    rrs: [],
  });
  const gone = { version: undefined, serial: undefined, rrs: [], complete: false };
  return { zone, id: toHex(id), apex, kind, change, serialFrom, ...gone };
}
