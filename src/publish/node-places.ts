/**
 * Which places in the table of states the nodes of the image read. What is staged may become visible or not: until that is known, a node
 * keeps the places that it had, too.
 */
import { ownerText } from '../serving/difference.js';
import type { PoolPlaces, StatePlaces } from './state-places.js';

export interface NodePlaces {
  /** A node of an image zone is staged, which reads these places. */
  stage(zone: number, ownerKey: Uint8Array, places: readonly PoolPlaces[]): void;
  /** A node without any is staged, or none any more. */
  stageNone(zone: number, ownerKey: Uint8Array): void;
  /** What is staged in a zone is visible now. */
  settle(zone: number): void;
  /** What is staged in a zone never will be. */
  discard(zone: number): void;
  /** The zone is not in the image any more. */
  drop(zone: number): void;
}

interface OfZone {
  /** By {@link ownerText}, here and below. */
  readonly visible: Map<string, readonly PoolPlaces[]>;
  /** A node may be staged more than once; the last one counts. */
  readonly staged: Map<string, readonly PoolPlaces[][]>;
}

export function createNodePlaces({ release }: Pick<StatePlaces, 'release'>): NodePlaces {
  const zones = new Map<number, OfZone>();

  const releaseAll = (all: Iterable<readonly PoolPlaces[]>): void => {
    for (const places of all) for (const one of places) release(one);
  };
  const stage = (zone: OfZone, ownerKey: Uint8Array, places: readonly PoolPlaces[]): void => {
    const text = ownerText(ownerKey);
    if (places.length === 0 && !zone.visible.has(text) && !zone.staged.has(text)) return;
    zone.staged.set(text, [...(zone.staged.get(text) ?? []), [...places]]);
  };
  const discard = (number: number): void => {
    const zone = zones.get(number);
    for (const attempts of zone?.staged.values() ?? []) releaseAll(attempts);
    zone?.staged.clear();
  };
  return {
    stage(number, ownerKey, places) {
      if (places.length === 0 && !zones.has(number)) return;
      const zone = zones.get(number) ?? { visible: new Map(), staged: new Map() };
      zones.set(number, zone);
      stage(zone, ownerKey, places);
    },
    stageNone(number, ownerKey) {
      const zone = zones.get(number);
      if (zone) stage(zone, ownerKey, []);
    },
    settle(number) {
      const zone = zones.get(number);
      if (!zone) return;
      for (const [text, attempts] of zone.staged) {
        const last = attempts.at(-1)!;
        releaseAll([...attempts.slice(0, -1), zone.visible.get(text) ?? []]);
        if (last.length > 0) zone.visible.set(text, last);
        else zone.visible.delete(text);
      }
      zone.staged.clear();
      if (zone.visible.size === 0) zones.delete(number);
    },
    discard,
    drop(number) {
      discard(number);
      releaseAll(zones.get(number)?.visible.values() ?? []);
      zones.delete(number);
    },
  };
}
