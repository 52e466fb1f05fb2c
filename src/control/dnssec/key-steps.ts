/** The keys of a signed zone: their states, what each waits for, and how they enter the next state. */
import { keyTag } from '../../dns/key-tag.js';
import { algorithmMnemonic } from '../../dnssec/key.js';
import {
  describeWait,
  dutiesOf,
  type Judgement,
  judgeKeys,
  type KeyFacts,
  type KeyRole,
  type KeyState,
  type KeyStep,
  type RolloverFacts,
} from '../../dnssec/key-states.js';
import { KEY_TTL } from '../../serving/signed.js';
import { type DnssecKeyChange, type DnssecKeyRow, keysOfZone, updateDnssecKey } from '../../store/dnssec/keys.js';
import type { DnssecZoneRow } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Draft } from '../kernel/draft.js';
import { dsItem, isEntryPoint } from './ds.js';
import { resignSoon } from './enable.js';
import type { KeyItem } from './item.js';
import { changeKey, removeKey } from './keys.js';
import { foreignKeys } from './multi-signer.js';
import { parentDs, parentOf } from './parent.js';

/** Seconds until all servers of a zone answer a change (RFC 7583 §3.1: Dprp). */
const PROPAGATION_S = 3600;

/** The keys whose states the service decides; those of other signers are not among them. */
function ownKeys(keys: readonly DnssecKeyRow[]): readonly DnssecKeyRow[] {
  return keys.filter(({ sealed }) => sealed !== null);
}

function factsOf({ seq, role, algorithm, tag, state, state_at: since }: DnssecKeyRow): KeyFacts {
  return { seq, role, algorithm, tag, state: state as KeyState, since: toSeconds(since) };
}

/** What the keys of a zone wait for, and the steps that are due. `now`: microseconds since 1970. */
export function judgeZoneKeys(store: Store, zone: DnssecZoneRow, now: number): Judgement {
  const rows = ownKeys(keysOfZone(store, zone.zone));
  /** `until` of a key holds when a re-signing of the whole zone was seen finished, see {@link noteWalk}. */
  const finishedAt = ({ seq }: KeyFacts): number | undefined => {
    const until = rows.find((row) => row.seq === seq)?.until ?? null;
    return until === null ? undefined : toSeconds(until);
  };
  if (zone.phase !== 'signed') return { steps: [], waits: [] };
  const parent = parentDs(parentOf(store, zone.zone));
  return judgeKeys(rows.map(factsOf), {
    now: toSeconds(now),
    ...waitsOf(zone, isFirst(rows)),
    lastSignatureReplaced: finishedAt,
    signedEverywhereSince: finishedAt,
    parent: { ...parent, ttl: zone.emergency === 1 ? 0 : parent.ttl },
  });
}

/** How long resolvers remember; in an emergency that is not waited for. */
function waitsOf(
  { emergency, largest_ttl: largestTtl }: DnssecZoneRow,
  isFirstKey: boolean,
): Pick<RolloverFacts, 'dnskeyTtl' | 'largestTtl' | 'propagation'> {
  if (emergency === 1) return { dnskeyTtl: 0, largestTtl: 0, propagation: 0 };
  return { dnskeyTtl: Math.max(KEY_TTL, isFirstKey ? largestTtl : 0), largestTtl, propagation: PROPAGATION_S };
}

/** Before the first key is named to the parent, resolvers must have forgotten answers without signatures. */
function isFirst(rows: readonly DnssecKeyRow[]): boolean {
  return !rows.some((key) => isEntryPoint(key) && key.state !== 'published');
}

/** Notes which keys have waited for a re-signing of the whole zone that is finished now. Call inside a write. */
export function noteWalk(store: Store, zone: DnssecZoneRow, now: number): void {
  if (zone.walk !== null) return;
  for (const key of ownKeys(keysOfZone(store, zone.zone))) {
    const waits = key.role !== 'ksk' && (key.state === 'retired' || key.state === 'presigning');
    if (waits && key.until === null) updateDnssecKey(store, key.id, { until: now });
  }
}

/**
 * Lets keys enter their next states, in one change of the zone. A change of the keys that sign data begins a re-signing
 * of the whole zone.
 */
export function applySteps(ctx: Context, draft: Draft, zone: ZoneRow, steps: readonly KeyStep[]): void {
  const rows = keysOfZone(ctx.store, zone.seq);
  for (const { key, to } of steps) {
    const { id } = rows.find(({ seq }) => seq === key.seq)!;
    if (to === 'removed') removeKey(ctx, draft, zone, id);
    else changeKey(ctx, draft, zone, id, entering(key.role, to));
  }
  if (steps.some(({ key, to }) => key.role !== 'ksk' && to !== 'published')) resignSoon(ctx, zone);
}

/** The columns of a key that enters a state. */
function entering(role: KeyRole, state: KeyState): Omit<Required<DnssecKeyChange>, 'state_at'> {
  const { isPublished, signs, isNamedToParent } = dutiesOf(role, state);
  return {
    state,
    until: null,
    published: isPublished ? 1 : 0,
    signs: signs ? 1 : 0,
    in_cds: isNamedToParent ? 1 : 0,
  };
}

/** The keys of a zone as callers see them. `now`: microseconds since 1970. */
export function keyItems(store: Store, { seq, apex }: ZoneRow, row: DnssecZoneRow, now: number): KeyItem[] {
  const { waits } = judgeZoneKeys(store, row, now);
  const foreign = foreignKeys(store, seq).map(({ id, rdata, created_at: since }): KeyItem => {
    const role = (rdata[1]! & ENTRY_POINT) === 0 ? 'zsk' : 'ksk';
    const described = describeKey({ id, role, tag: keyTag(rdata), algorithm: rdata[3]!, public: rdata });
    const ds = role === 'ksk' ? dsItem(apex, rdata) : undefined;
    return { ...described, state: 'external', since, wait: undefined, ds };
  });
  const own = keysOfZone(store, seq).map((key): KeyItem => {
    const wait = waits.find((one) => one.key.seq === key.seq);
    return {
      ...describeKey(key),
      state: key.sealed === null ? 'external' : key.state,
      since: key.state_at,
      wait: wait && {
        waitingFor: describeWait(wait.waitingFor),
        until: wait.until === undefined ? undefined : wait.until * 1e6,
      },
      ds: isEntryPoint(key) ? dsItem(apex, key.public) : undefined,
    };
  });
  return [...own, ...foreign];
}

function describeKey({
  id,
  role,
  tag,
  algorithm,
  public: dnskey,
}: Pick<DnssecKeyRow, 'id' | 'role' | 'tag' | 'algorithm' | 'public'>): Omit<
  KeyItem,
  'state' | 'since' | 'wait' | 'ds'
> {
  return {
    id,
    role,
    tag,
    algorithm,
    algorithmName: algorithmMnemonic(algorithm) ?? `algorithm ${algorithm}`,
    flags: (dnskey[0]! << 8) | dnskey[1]!,
    dnskey,
    publicKey: dnskey.subarray(KEY_AT),
    ttl: KEY_TTL,
  };
}

const ENTRY_POINT = 1;

/** Octets of DNSKEY rdata before the key. */
const KEY_AT = 4;

function toSeconds(us: number): number {
  return Math.floor(us / 1e6);
}
