/**
 * Events about what needs somebody: one when it begins, and one when it is over. One for each kind and zone; how many things of the
 * kind there are does not matter.
 */
import { OPERATOR } from '../control/guard/actor.js';
import type { ContextBase } from '../control/kernel/context.js';
import type { EventEntry, EventKind } from '../control/kernel/event.js';
import { logEvents } from '../control/kernel/outbox.js';
import { type ConditionRow, closeCondition, openCondition, openConditions } from '../store/log/conditions.js';
import { findZoneById } from '../store/zones/zones.js';
import type { Finding } from './finding.js';
import { type Condition, examineWaits } from './waits.js';

/** What an event calls the beginning and the end. */
const KINDS: Partial<Readonly<Record<Condition['kind'], readonly [begin: EventKind, end: EventKind]>>> = {
  'zone-never-transferred': ['zone.transfer_fail', 'zone.transfer_recover'],
  'zone-not-refreshed': ['zone.transfer_fail', 'zone.transfer_recover'],
  'secondary-behind': ['secondary.behind', 'secondary.recover'],
  'secondary-unreachable': ['secondary.behind', 'secondary.recover'],
  'certificate-missing': ['certificate.wait', 'certificate.recover'],
  'certificate-failing': ['certificate.fail', 'certificate.recover'],
  'certificate-ending': ['certificate.expire', 'certificate.recover'],
  'backup-missing': ['backup.overdue', 'backup.recover'],
  'backup-old': ['backup.overdue', 'backup.recover'],
  'ds-awaited': ['dnssec.ds_wait', 'dnssec.wait_end'],
  'rollover-awaited': ['dnssec.rollover_wait', 'dnssec.wait_end'],
};
const OTHERS = ['warning.begin', 'warning.end'] as const;

/** Conditions that begin or end at one look; the others follow at the next. */
const MOST_AT_ONCE = 500;
const LONGEST_TEXT = 500;

/** Writes events about what has begun and what has ended since the last look; nothing when nothing has. */
export async function noteConditions(base: ContextBase, findings: readonly Finding[]): Promise<void> {
  const { store, clock, random } = base;
  const now = conditionsOf(base, findings);
  const requestId = random.uuid();
  if (changesOf(openConditions(store), now).length === 0) return;
  await store.write(() => {
    const nowUs = clock.nowUs();
    const changes = changesOf(openConditions(store), now).slice(0, MOST_AT_ONCE);
    for (const { row, condition } of changes) {
      if (condition) openCondition(store, rowOf(condition, nowUs));
      else closeCondition(store, row!);
    }
    const by = { store, actor: OPERATOR, requestId, source: 'service' } as const;
    logEvents(
      by,
      nowUs,
      changes.map((change) => eventOf(base, change)),
    );
  });
}

/** By kind and zone. */
function conditionsOf({ store, clock }: ContextBase, findings: readonly Finding[]): ReadonlyMap<string, Condition> {
  const warnings = findings.flatMap((finding) =>
    finding.kind === undefined ? [] : [{ ...finding, kind: finding.kind }],
  );
  const all: readonly Condition[] = [...warnings, ...examineWaits(store, clock.nowUs())];
  return new Map(all.toReversed().map((condition) => [`${condition.kind} ${condition.zoneId ?? ''}`, condition]));
}

interface Change {
  /** Undefined: it begins. */
  readonly row: ConditionRow | undefined;
  /** Undefined: it ends. */
  readonly condition: Condition | undefined;
}

function changesOf(open: readonly ConditionRow[], now: ReadonlyMap<string, Condition>): Change[] {
  const known = new Map(open.map((row) => [`${row.kind} ${Buffer.from(row.zone).toString('hex')}`, row]));
  const ended = [...known].filter(([key]) => !now.has(key)).map(([, row]) => ({ row, condition: undefined }));
  const begun = [...now].filter(([key]) => !known.has(key)).map(([, condition]) => ({ row: undefined, condition }));
  return [...ended, ...begun];
}

function rowOf({ kind, zoneId = '', text }: Condition, since: number): ConditionRow {
  return { kind, zone: Buffer.from(zoneId, 'hex'), since, text: text.slice(0, LONGEST_TEXT) };
}

function eventOf({ store }: ContextBase, { row, condition }: Change): EventEntry {
  const { kind, zone: id } = row ?? rowOf(condition!, 0);
  const [begin, end] = KINDS[kind as Condition['kind']] ?? OTHERS;
  const zone = id.length === 0 ? undefined : findZoneById(store, id);
  const subject = zone ? { zone } : { name: kind };
  if (!condition) return { ...subject, kind: end, before: { warning: kind, text: row!.text, since: row!.since } };
  const { text, remedy } = condition;
  return { ...subject, kind: begin, after: { warning: kind, text, ...(remedy !== undefined && { remedy }) } };
}
