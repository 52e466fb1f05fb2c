/**
 * Receipts of writes (ours): two response headers with the change and the zone's new serial; the entity tag; with
 * `?wait=insync` whether every DNS process, and every secondary that answers, serves the change; for a dry run, the difference for resolvers.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fromHex } from '../base/bytes.js';
import { zoneTag } from '../control/guard/precondition.js';
import { isHeld, type Propagation } from '../control/kernel/propagation.js';
import { printDiff, type ZoneOutcome } from '../control/kernel/zone-outcome.js';
import { type PeerProgress, peerProgress } from '../control/zones/peer-progress.js';
import type { Store } from '../store/driver.js';
import { findZoneById } from '../store/zones/zones.js';
import type { Message, Success } from './envelope.js';
import { failure } from './errors.js';
import { choiceValue, firstValue } from './query.js';
import { callerOf, isDryRun, queryOf, writesState } from './request.js';
import type { Diff } from './schema.js';

/** Number of the change in the change log: a server that has applied it answers with it. */
const CHANGE_HEADER = 'zoneplane-change';
/** SOA serial of the zone after the change. */
const SERIAL_HEADER = 'zoneplane-serial';
/** `INSYNC` or `PENDING` after waiting. */
const STATUS_HEADER = 'zoneplane-status';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Seconds that a write waits for the DNS processes by default, and at most. */
const USUAL_WAIT = 10;
const LONGEST_WAIT = 60;

function isWrite(request: FastifyRequest): boolean {
  return !READS.has(request.method);
}

/** Called before a write: throws 400 when it requests an option that its route does not support. */
export function checkPreferences(request: FastifyRequest): void {
  if (!isWrite(request)) return;
  const dryRun = isDryRun(request);
  const waitMs = waitOf(request);
  if (writesState(request)) return;
  // A write with an unsupported dry run must not be executed.
  if (dryRun) throw failure('noDryRun');
  if (waitMs !== undefined) throw failure('badParameter', { name: 'wait', expected: 'a write to a zone' });
}

/** Milliseconds to wait for the DNS processes; undefined when not requested. */
function waitOf(request: FastifyRequest): number | undefined {
  const query = queryOf(request);
  const wait = firstValue(query, 'wait') === '' ? 'insync' : choiceValue(query, 'wait', ['insync', 'true', 'false']);
  if (wait === undefined || wait === 'false') return undefined;
  const text = firstValue(query, 'wait_limit');
  const seconds = text === undefined ? USUAL_WAIT : /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= LONGEST_WAIT)) {
    throw failure('badParameter', { name: 'wait_limit', expected: `0 to ${LONGEST_WAIT} seconds` });
  }
  return seconds * 1000;
}

/**
 * Called after the handler of a write with the answer object. A write without effect for resolvers has no change
 * number.
 */
export async function addReceipt(
  { store, propagation }: { readonly store: Store; readonly propagation: Propagation | undefined },
  request: FastifyRequest,
  reply: FastifyReply,
  answer: unknown,
): Promise<unknown> {
  if (!isWrite(request) || reply.statusCode !== 200) return answer;
  const zone = mainZone(request);
  if (isDryRun(request)) {
    return { ...(answer as object), diff: zone ? diffOf(zone) : noDiff(store, zoneIdOf(request)) };
  }
  if (zone === undefined) return answer;
  const { change, serial, version } = zone;
  if (change !== undefined) reply.header(CHANGE_HEADER, String(change));
  if (change !== undefined && serial !== undefined) reply.header(SERIAL_HEADER, String(serial));
  const isOfZone = request.routeOptions.config.objectState === undefined;
  if (isOfZone && version !== undefined && serial !== undefined) reply.header('etag', zoneTag({ version, serial }));
  const waitMs = waitOf(request);
  if (waitMs === undefined) return answer;
  if (change === undefined) {
    reply.header(STATUS_HEADER, 'INSYNC');
    return answer;
  }
  const of = { change, zone: zone.zone };
  const behind = (): PeerProgress[] =>
    peerProgress(store, callerOf(request).actor, zone.zone, serial ?? null).filter(
      (peer) => !peer.served && (peer.isAwaited || peer.error),
    );
  const isServed = (): boolean => propagation?.isServed(of) ?? false;
  const inSync = (): boolean => isServed() && !behind().some(({ isAwaited }) => isAwaited);
  const done = (await propagation?.whenHolds(inSync, waitMs)) ?? false;
  reply.header(STATUS_HEADER, done ? 'INSYNC' : 'PENDING');
  if (isServed()) return behind().reduce((whole, peer) => withMessage(whole, behindMessage(change, peer)), answer);
  const held = propagation?.processes().some((process) => isHeld(process, of)) ?? false;
  return withMessage(answer, held ? heldMessage(change) : pendingMessage(change));
}

/** The zone of the request among those that its commits touched. */
function mainZone(request: FastifyRequest): ZoneOutcome | undefined {
  const zones = request.outcome?.zones ?? [];
  const id = zoneIdOf(request);
  return zones.findLast((zone) => zone.id === id) ?? zones.at(-1);
}

function zoneIdOf(request: FastifyRequest): string | undefined {
  return (request.params as { readonly zone_id?: string } | undefined)?.zone_id;
}

function diffOf({ apex, rrs, complete, serialFrom, serial }: ZoneOutcome): Diff {
  const printed = printDiff(apex, rrs, complete);
  const serials = { serial_from: serialFrom ?? null, serial_to: serial ?? null };
  return { ...serials, removed: [...printed.removed], added: [...printed.added], complete: printed.complete };
}

/** For a write that would change nothing for resolvers. */
function noDiff(store: Store, zoneId = ''): Diff {
  const id = fromHex(zoneId);
  const serial = (id && findZoneById(store, id)?.serial) ?? null;
  return { serial_from: serial, serial_to: serial, removed: [], added: [], complete: true };
}

function pendingMessage(change: number): Message {
  return { code: 10202, message: `Change ${change} is stored, but not every DNS process serves it yet.` };
}

function heldMessage(change: number): Message {
  const consequence = 'queries see the zone in its former state, and the log of that process has the reason';
  return { code: 10203, message: `Change ${change} is stored, but a DNS process cannot publish it: ${consequence}.` };
}

function behindMessage(change: number, { name, serial, error }: PeerProgress): Message {
  const state = error ?? (serial === null ? 'it has not been seen yet' : `it serves serial ${serial}`);
  return { code: 10204, message: `Change ${change} is not known to be served by the secondary ${name}: ${state}.` };
}

function withMessage(answer: unknown, message: Message): unknown {
  const { messages, ...members } = answer as Success<unknown>;
  return { ...members, messages: [...messages, message] };
}
