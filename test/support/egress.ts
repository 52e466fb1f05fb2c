/** The rule of reach for tests, whose servers are on loopback. */
import type { Clock } from '../../src/base/clock.js';
import { parseNetwork } from '../../src/base/ip.js';
import { createEgress, type Egress, PURPOSES } from '../../src/egress/egress.js';
import { createOwnListeners, type Listener } from '../../src/egress/own-listeners.js';

/** Allows these networks for all purposes. */
export function egressTo(clock: Clock, networks: readonly string[], listeners: readonly Listener[] = []): Egress {
  const allowed = networks.map((text) => ({ network: parseNetwork(text)!, purposes: PURPOSES }));
  return createEgress({ allowed, own: createOwnListeners(clock, () => listeners) });
}

export function anywhere(clock: Clock): Egress {
  return egressTo(clock, ['0.0.0.0/0', '::/0']);
}
