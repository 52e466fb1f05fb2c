/** What goes on with peers. Those of one zone are found without looking at the others, of which there may be a hundred thousand. */
import type { PeerTalk } from './peer-talk.js';

export interface Talks {
  /** Those with the peers of a zone; what goes on with its former peers ends. */
  of(zone: number, peers: readonly number[]): PeerTalk[];
  /** All of a zone end: it is gone, or goes nowhere any more. */
  end(zone: number): void;
  endAll(): void;
}

/** `open` is asked for those that are new. Zones and peers are store numbers. */
export function createTalks(open: (zone: number, peer: number) => PeerTalk): Talks {
  const zones = new Map<number, Map<number, PeerTalk>>();
  const end = (zone: number): void => {
    for (const talk of zones.get(zone)?.values() ?? []) talk.close();
    zones.delete(zone);
  };
  return {
    of(zone, peers) {
      const known = zones.get(zone) ?? new Map<number, PeerTalk>();
      const now = new Map(peers.map((peer) => [peer, known.get(peer) ?? open(zone, peer)]));
      for (const [peer, talk] of known) if (!now.has(peer)) talk.close();
      if (now.size === 0) zones.delete(zone);
      else zones.set(zone, now);
      return [...now.values()];
    },
    end,
    endAll() {
      for (const zone of [...zones.keys()]) end(zone);
    },
  };
}
