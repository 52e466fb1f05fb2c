/** Writes the rows of the outbox: what happened in a write, and who did it. The audit log reads them. */
import { finished } from '../../base/slices.js';
import { appendEvents, type NewEventRow, type PlannedEvent } from '../../store/log/events.js';
import type { Context } from './context.js';
import type { EventEntry } from './event.js';
import type { ZoneOutcome } from './zone-outcome.js';

/** Who did it, and when. */
type EventBy = Pick<Context, 'store' | 'actor' | 'requestId' | 'source' | 'address'>;

/** One row for each subject of a write. `now`: microseconds since 1970; `planned`: events of edits that the write makes, which come first. */
export function logEvents(
  ctx: EventBy,
  now: number,
  entries: readonly EventEntry[],
  zones: readonly ZoneOutcome[] = [],
  planned: readonly PlannedEvent[] = [],
): void {
  const changes = new Map(zones.map(({ id, change }) => [id, change]));
  const rowAt = (event: PlannedEvent): NewEventRow => {
    const change = event.zone && zones.length > 0 ? changes.get(hex(event.zone)) : undefined;
    return { ...event, at_us: now, change: change ?? null };
  };
  const rows = finished(bySubject(entries)).map((entry) => rowAt(rowOf(ctx, entry)));
  appendEvents(ctx.store, [...planned.map(rowAt), ...rows]);
}

/** The events of an edit that has not happened yet; yields after each. */
export function* planEvents(ctx: EventBy, entries: readonly EventEntry[]): Generator<undefined, PlannedEvent[]> {
  const events: PlannedEvent[] = [];
  for (const entry of yield* bySubject(entries)) {
    events.push(rowOf(ctx, entry));
    yield;
  }
  return events;
}

function rowOf(
  { actor, requestId, source, address }: EventBy,
  { kind, zone, account, id, name, before, after }: EventEntry,
): PlannedEvent {
  return {
    kind,
    subject: id ?? zone?.id ?? null,
    name: name ?? zone!.name,
    zone: zone?.id ?? null,
    zone_name: zone?.name ?? null,
    account: zone?.account ?? account ?? null,
    actor: actor.email,
    actor_kind: actor.kind,
    actor_id: actor.userId === '' ? null : Buffer.from(actor.userId, 'hex'),
    credential: actor.keyId === undefined ? null : Buffer.from(actor.keyId, 'hex'),
    credential_name: actor.keyName ?? null,
    address: address ?? null,
    source,
    request_id: requestId,
    before: before === undefined ? null : JSON.stringify(before),
    after: after === undefined ? null : JSON.stringify(after),
  };
}

/** A subject that was edited several times in one write has one event: from the first state to the last one. */
function* bySubject(entries: readonly EventEntry[]): Generator<undefined, readonly EventEntry[]> {
  if (entries.length < 2) return entries;
  const found = new Map<string, EventEntry>();
  for (const entry of entries) {
    const { kind, zone, id, name = '' } = entry;
    const key = `${kind} ${hex(zone?.id)} ${hex(id)} ${name}`;
    const earlier = found.get(key);
    found.set(key, earlier ? joined(earlier, entry) : entry);
    yield;
  }
  return [...found.values()];
}

function joined(earlier: EventEntry, later: EventEntry): EventEntry {
  return {
    ...later,
    before:
      isObject(earlier.before) && isObject(later.before) ? { ...later.before, ...earlier.before } : earlier.before,
    after: isObject(earlier.after) && isObject(later.after) ? { ...earlier.after, ...later.after } : later.after,
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function hex(id: Uint8Array | undefined): string {
  return id ? Buffer.from(id).toString('hex') : '';
}
