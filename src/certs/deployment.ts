/**
 * How far edge processes are behind what is stored for them. Each edge says up to which row of `edge_changes` it has
 * read; it uses everything that was stored until then. Only the admin process hears the edges. Where no edge is known,
 * everything counts as read.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import { perStore, type Store } from '../store/driver.js';
import { type EdgeSubject, lastEdgeChange, lastEdgeChangeOf } from '../store/edge/changes.js';

interface EdgeProcess {
  /** The last row of `edge_changes` that it has read. */
  readonly applied: number;
  /** Owners, as `kind:id`, whose certificate it has read but cannot use, because its key does not open. */
  readonly unusable: readonly string[];
  /** When it was first seen to have something left to read, on a monotonic clock; undefined when it has read all. */
  readonly behindSinceMs: number | undefined;
}

interface Known {
  /** Undefined until somebody hears the edges. */
  clock: Clock | undefined;
  readonly edges: Map<string, EdgeProcess>;
  readonly waiting: Set<() => void>;
}

/** `late`: for a minute, an edge has read nothing, although it should; or it cannot use a certificate. */
export type Deployed = 'everywhere' | 'waiting' | 'late';

const LATE_MS = 60_000;
/** Requests wait so long for edges, milliseconds. Edges usually take 20. */
const WAIT_MS = 250;

const knownEdges = perStore((): Known => ({ clock: undefined, edges: new Map(), waiting: new Set() }));

/** What edge processes say. */
export interface EdgeReports {
  /**
   * `name`: of the process while it lives. `applied`: the last row of `edge_changes` that it has read. `unusable`: owners, as `kind:id`,
   * whose certificate it cannot use.
   */
  report(name: string, applied: number, unusable: readonly string[]): void;
  /** The process has ended, so nothing waits for it any more. */
  forget(name: string): void;
  /** Call after commits, so that it is known since when an edge is behind. */
  noteChanges(): void;
}

export function hearEdges(store: Store, clock: Clock): EdgeReports {
  const known = knownEdges(store);
  const { edges, waiting } = known;
  known.clock = clock;
  const look = (): void => {
    for (const check of [...waiting]) check();
  };
  return {
    report(name, applied, unusable) {
      const isBehind = applied < lastEdgeChange(store);
      edges.set(name, { applied, unusable, behindSinceMs: isBehind ? steadyMs(clock) : undefined });
      look();
    },
    forget(name) {
      edges.delete(name);
      look();
    },
    noteChanges() {
      if (edges.size === 0) return;
      const last = lastEdgeChange(store);
      for (const [name, edge] of edges) {
        if (edge.applied >= last || edge.behindSinceMs !== undefined) continue;
        edges.set(name, { ...edge, behindSinceMs: steadyMs(clock) });
      }
    },
  };
}

/** Whether all edges that live have read the newest change about a subject. */
export function deployedOf(store: Store, subject: EdgeSubject): Deployed {
  const { clock, edges } = knownEdges(store);
  if (!clock || edges.size === 0) return 'everywhere';
  const change = lastEdgeChangeOf(store, subject);
  const isUnusable = ({ unusable }: EdgeProcess): boolean => unusable.includes(subject.subject);
  if (subject.kind === 'certificate' && [...edges.values()].some(isUnusable)) return 'late';
  const behind = [...edges.values()].filter(({ applied }) => applied < change);
  if (behind.length === 0) return 'everywhere';
  const nowMs = steadyMs(clock);
  return behind.some(({ behindSinceMs = nowMs }) => nowMs - behindSinceMs >= LATE_MS) ? 'late' : 'waiting';
}

/** Resolves when all edges that live have read everything stored until now, or after a quarter of a second. */
export function whenDeployed(store: Store): Promise<void> {
  const { clock, edges, waiting } = knownEdges(store);
  const change = lastEdgeChange(store);
  const isRead = (): boolean => [...edges.values()].every(({ applied }) => applied >= change);
  if (!clock || isRead()) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      waiting.delete(check);
      cancel();
      resolve();
    };
    const check = (): void => {
      if (isRead()) end();
    };
    const cancel = clock.after(WAIT_MS, end);
    waiting.add(check);
  });
}
