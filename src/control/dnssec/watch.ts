/**
 * The job that looks at the parent of a signed zone, and takes the steps that are due: the state of the delegation, rollovers,
 * and the removal of signatures that nobody needs any more.
 */
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import type { JobContext, JobKind, JobOutcome } from '../../jobs/kind.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
import { putParent, removeParent } from '../../store/dnssec/parents.js';
import { type DnssecZoneRow, findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import { findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import { parseId, requireZone } from '../guard/access.js';
import { OPERATOR } from '../guard/actor.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { lookAtParentSoon } from '../schedule/signing.js';
import { askParent, getDnssec, setState } from './delegation.js';
import { isEntryPoint } from './ds.js';
import { endSigning } from './enable.js';
import { dnssecFailure } from './errors.js';
import type { DnssecItem } from './item.js';
import { applySteps, judgeZoneKeys, noteWalk } from './key-steps.js';
import { noteParent, noteSaidDs, parentOf, stateByParent } from './parent.js';
import { isParentCurrent, updateParent } from './parental-agent.js';
import { areSignalsCurrent, publishSignals } from './signals.js';

/** Milliseconds between two looks, while something is awaited and otherwise. */
const AWAITED_MS = 60_000;
const SETTLED_MS = 3_600_000;
const SOON_MS = 1000;

export function parentJob(base: ContextBase): JobKind {
  return {
    atOnce: 8,
    overduePerSecond: 20,
    handler: (job, subject) =>
      lookAtZone({ ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' }, job, subject),
  };
}

async function lookAtZone(ctx: Context, job: JobContext, zoneId: string): Promise<JobOutcome> {
  const outcome = await lookAtParent(ctx, job, zoneId);
  await tellOthers(ctx, job, parseId(zoneId)!);
  // What the parent has then is seen, and followed, at the next look.
  return (await tellParent(ctx, job, parseId(zoneId)!)) ? { againAtMs: ctx.clock.nowMs() + SOON_MS } : outcome;
}

/**
 * Gives a parent zone here the DS records that it takes from the zone, in a commit of their own, too. True when it did not have
 * them.
 */
async function tellParent(ctx: Context, job: JobContext, id: Uint8Array): Promise<boolean> {
  const { store } = ctx;
  if (store.snapshot(() => isParentCurrent(ctx, findZoneById(store, id)))) return false;
  try {
    await commit(ctx, (draft) => {
      job.requireLease();
      updateParent(ctx, draft, findZoneById(store, id));
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // A parent that is full must not stop what the zone itself waits for.
    ctx.log.warn({ zone: toHex(id), reason: error.message }, 'a parent zone did not take DS records');
    return false;
  }
  return true;
}

/** Lets other zones tell of the keys of this one, or no longer, in a commit of their own, because their keys are needed. */
async function tellOthers(ctx: Context, job: JobContext, id: Uint8Array): Promise<void> {
  const { store } = ctx;
  if (store.snapshot(() => areSignalsCurrent(ctx, id, findZoneById(store, id)))) return;
  await commit(ctx, (draft) => {
    job.requireLease();
    publishSignals(ctx, draft, id, findZoneById(store, id));
  });
}

async function lookAtParent(ctx: Context, job: JobContext, zoneId: string): Promise<JobOutcome> {
  const { store, clock } = ctx;
  const zone = findZoneById(store, parseId(zoneId)!);
  if (!zone || !findDnssecZone(store, zone.seq)) return { done: true };
  const servers = await askParent(ctx, zone);
  const { value: restMs } = await commit(ctx, (draft) => {
    job.requireLease();
    const current = draft.zone(zone.seq);
    const row = current && findDnssecZone(store, current.seq);
    if (!current || !row) return undefined;
    noteParent(store, current.seq, servers, draft.now);
    return step(ctx, draft, current, row);
  });
  return restMs === undefined ? { done: true } : { againAtMs: clock.nowMs() + restMs };
}

/** Takes what is due; returns the milliseconds until the next look, undefined when there is nothing left to look at. */
function step(ctx: Context, draft: Draft, zone: ZoneRow, row: DnssecZoneRow): number | undefined {
  const { store } = ctx;
  if (row.phase === 'unsigning') return undefined;
  const known = parentOf(store, zone.seq);
  const state = stateByParent(store, zone, row, known);
  if (state !== row.state) setState(ctx, draft, zone, state);
  // A DS record that came back has a TTL of its own: the signatures stay until the user asks for their end again.
  const parent = state === 'disabled' ? known : { ...known, remove_at: null };
  if (parent.remove_at !== known.remove_at) putParent(store, parent);
  const isDue = parent.remove_at !== null && parent.remove_at <= draft.now;
  // A DS record that was there is surely gone only if its absence was seen, or said.
  if (isDue && (parent.agreed === '[]' || row.ds_seen_at === null)) {
    endSigning(ctx, draft, zone);
    removeParent(store, zone.seq);
    return undefined;
  }
  noteWalk(store, row, draft.now);
  const { steps, waits } = judgeZoneKeys(store, row, draft.now);
  applySteps(ctx, draft, zone, steps);
  // A rollover that hurries looks at every step at once.
  if (row.emergency === 1) return restInEmergency(ctx, zone, steps.length, waits);
  const isAwaited = state.startsWith('pending') || steps.length > 0 || waits.some(({ until }) => until === undefined);
  const ends = waits.flatMap(({ until }) => (until === undefined ? [] : [until * 1e6]));
  if (parent.remove_at !== null) ends.push(parent.remove_at);
  const restMs = isAwaited || row.phase !== 'signed' ? AWAITED_MS : SETTLED_MS;
  return Math.min(restMs, ...ends.map((end) => Math.max(1000, (end - draft.now) / 1000 + 1000)));
}

/** The same in an emergency, which ends when no key waits for anything. */
function restInEmergency(
  { store }: Context,
  { seq }: ZoneRow,
  steps: number,
  waits: readonly { readonly waitingFor: string }[],
): number {
  if (steps > 0) return SOON_MS;
  if (waits.length === 0) updateDnssecZone(store, seq, { emergency: 0 });
  return waits.some(({ waitingFor }) => waitingFor !== 'parent-ds') ? SOON_MS : AWAITED_MS;
}

/**
 * A person says that the parent has the DS record of a key, or none (null). The servers of the parent, once they answer,
 * overrule it.
 */
export async function confirmDs(ctx: Context, zoneId: string, keyTag: number | null): Promise<DnssecItem> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = findDnssecZone(ctx.store, zone.seq);
    if (!row) throw dnssecFailure('notSigned');
    const key = keysOfZone(ctx.store, zone.seq).find((own) => own.tag === keyTag && isEntryPoint(own));
    if (keyTag !== null && !key) throw dnssecFailure('keyMissing');
    noteSaidDs(ctx.store, zone, key?.public ?? null, draft.now);
    draft.event({ kind: 'dnssec.ds_seen', zone, after: { key_tag: keyTag } });
    lookAtParentSoon(ctx, zone);
  });
  return getDnssec(ctx, zoneId);
}
