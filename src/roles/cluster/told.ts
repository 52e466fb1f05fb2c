/** What a node tells the others about itself, beside its position: the text of its row. */
import type { NodeRow } from '../../cluster/nodes.js';
import type { UnpublishedZone } from '../../control/kernel/propagation.js';
import type { Listener } from '../../egress/own-listeners.js';

/** Absent parts: the node has no such process, or nothing to say about it. */
export interface Told {
  /** The node is to answer DNS, and no DNS process of it has said yet how far it is: it starts, or has to be started again. */
  readonly awaitsDns?: true;
  readonly dns?: { readonly applied: number; readonly unpublished: readonly UnpublishedZone[] };
  readonly edge?: number;
  /** Owners whose certificates an edge of the node cannot use. */
  readonly unusable?: readonly string[];
  /** What its processes listen on; `machine` is told with it. */
  readonly listeners?: readonly Listener[];
  readonly machine?: string;
  /** Why the copy of the node has stopped following the log. */
  readonly stopped?: string;
}

type Check = (value: unknown) => boolean;

const isNumber: Check = (value) => Number.isSafeInteger(value);
const isText: Check = (value) => typeof value === 'string';
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const withParts =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(checks).every(([name, check]) => check((value as Record<string, unknown>)[name]));

const UNPUBLISHED = withParts({ zone: isNumber, change: isNumber, isHeld: (value) => typeof value === 'boolean' });

const CHECKS: { readonly [Part in keyof Required<Told>]: Check } = {
  awaitsDns: (value) => value === true,
  dns: withParts({ applied: isNumber, unpublished: listOf(UNPUBLISHED) }),
  edge: isNumber,
  unusable: listOf(isText),
  listeners: listOf(withParts({ host: isText, port: isNumber })),
  machine: isText,
  stopped: isText,
};

/** What the row of a node says. Whoever has taken over a node may write anything there: what cannot be read was not told. */
export function toldBy({ report }: Pick<NodeRow, 'report'>): Told {
  let told: unknown;
  try {
    told = JSON.parse(report);
  } catch {
    return {};
  }
  if (typeof told !== 'object' || told === null) return {};
  const parts = Object.entries(told).filter(
    ([name, value]) => Object.hasOwn(CHECKS, name) && CHECKS[name as keyof Told](value),
  );
  return Object.fromEntries(parts) as Told;
}
