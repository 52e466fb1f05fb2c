/** Signatures that a DNS process makes while queries wait: what is shared with the engines, and what answers. */
import type { MadeTable } from '../../answer/made.js';
import { createSigningTime } from '../../answer/signing-time.js';
import { type Clock, threadProcessorUs } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import { type CompactAnswerer, createCompactAnswerer, MOST_TIME_US } from '../../compact/answerer.js';
import { createZoneAccounts, createZoneSigners } from '../../compact/zone-signers.js';
import type { DeferredEngine } from '../../publish/publisher.js';
import type { Store } from '../../store/driver.js';
import type { Vault } from '../../vault/vault.js';

export interface DnsCompactOptions {
  readonly store: Store;
  /** Opens the keys of zones with compact denial. */
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface DnsCompact {
  /** For the engines of this thread. */
  readonly made: MadeTable;
  /** For those of all threads. */
  readonly signingTime: SharedArrayBuffer;
  answerWith(engine: DeferredEngine): CompactAnswerer;
}

export function createDnsCompact({ store, vault, clock, log }: DnsCompactOptions): DnsCompact {
  const made: MadeTable = new Map();
  const signingTime = createSigningTime(MOST_TIME_US);
  const keysOf = createZoneSigners({ store, vault, log });
  const accountOf = createZoneAccounts(store);
  const processorUs = threadProcessorUs;
  return {
    made,
    signingTime,
    answerWith: (engine) =>
      createCompactAnswerer({ engine, made, signingTime, keysOf, accountOf, clock, processorUs, log }),
  };
}
