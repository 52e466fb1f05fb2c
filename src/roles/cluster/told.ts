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

export function toldBy({ report }: Pick<NodeRow, 'report'>): Told {
  return JSON.parse(report) as Told;
}
