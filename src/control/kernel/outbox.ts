/** Writes the rows of the outbox: what happened in a write, and who did it. The audit log reads them. */
import { finished } from '../../base/slices.js';
import { appendEvents, type NewEventRow, type StagedEvent } from '../../store/log/events.js';
import type { Context } from './context.js';
import type { EventEntry } from './event.js';
import type { ZoneOutcome } from './zone-outcome.js';

/** Who did it, and when. */
type EventBy = Pick<Context, 'store' | 'actor' | 'requestId' | 'source' | 'address'>;

/** One row for each subject of a write. `now`: microseconds since 1970. */
export function logEvents(
  ctx: EventBy,
  now: number,
  entries: readonly EventEntry[],
  zones: readonly ZoneOutcome[] = [],
): void {
  const changes = new Map(zones.map(({ id, change }) => [id, change]));
  const rows = finished(bySubject(entries)).map((entry): NewEventRow => {
    const change = entry.zone && zones.length > 0 ? changes.get(hex(entry.zone.id)) : undefined;
    return { at_us: now, ...rowOf(ctx, entry), change: change ?? null };
  });
  appendEvents(ctx.store, rows);
}

/** The events of an edit that has not happened yet; yields after each. */
export function* eventsToStage(ctx: EventBy, entries: readonly EventEntry[]): Generator<undefined, StagedEvent[]> {
  const events: StagedEvent[] = [];
  for (const entry of yield* bySubject(entries)) {
    events.push(rowOf(ctx, entry));
    yield;
  }
  return events;
}

function rowOf(
  { actor, requestId, source, address }: EventBy,
  { kind, zone, account, id, name, before, after }: EventEntry,
): StagedEvent {
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
