/** The parts of the DNS process that need keys: transfers, and answers to signed queries. */
import { createKeyNames, markKeyNames } from '../../answer/key-names.js';
import type { Answer, AnswerDeferred } from '../../answer/transport.js';
import type { Clock } from '../../base/clock.js';
import { parseCidrSet } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import type { Settings } from '../../config/schema.js';
import { Opcode } from '../../dns/codes.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { incomingApexes, incomingVersion } from '../../store/secondary/incoming.js';
import { tsigKeyNames, tsigVersion } from '../../store/secondary/tsig-keys.js';
import { createNotifyReceiver } from '../../transfer/in/notified.js';
import { createTransfers, type Transfers } from '../../transfer/out/transfers.js';
import { answerSigned } from '../../transfer/signed-query.js';
import { createForwarder, type Forwarder, type ForwarderOptions } from '../../transfer/update/forward.js';
import { readKeys } from '../../vault/delegate.js';
import type { VaultKey } from '../../vault/envelope.js';
import { createVault } from '../../vault/vault.js';

export interface DnsTransfersOptions {
  readonly settings: Settings;
  readonly store: Store;
  readonly serving: ServingSettings;
  readonly udpSize: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Asks the admin process for the keys of TSIG secrets. */
  readonly askKeys: () => void;
  readonly onTransferred: (zone: number, address: string) => void;
  /** Has the admin process answer a message. */
  readonly relay: ForwarderOptions['relay'];
  /** A primary has sent NOTIFY for a zone (store number). */
  readonly onNotified: (zone: number) => void;
}

export interface DnsTransfers extends Pick<Transfers, 'answer' | 'close'>, Pick<Forwarder, 'samples'> {
  /** Shared with the engines of all threads. */
  readonly keyNames: SharedArrayBuffer;
  readonly secondaryNames: SharedArrayBuffer;
  /** `engine`: that of this thread. */
  answerDeferred(engine: Answer): AnswerDeferred;
  /** Takes the keys of TSIG secrets from the admin process. */
  setKeys(text: string): void;
  /** Something was committed: the names of keys may have changed. */
  wake(): void;
}

/** Milliseconds between two looks at the names of keys, in case a wake-up was lost. */
const LOOK_MS = 5000;

export function createDnsTransfers(options: DnsTransfersOptions): DnsTransfers {
  const { settings, store, serving, udpSize, clock, log, askKeys, onTransferred, relay, onNotified } = options;
  let known: readonly VaultKey[] = [];
  const vault = createVault({
    store,
    random: systemRandom,
    // Called again when a needed key is missing: the master key was replaced, or the admin process was away.
    keys() {
      askKeys();
      return known;
    },
  });
  const keyNames = createKeyNames();
  const secondaryNames = createKeyNames();
  const wake = followNames([
    { version: () => tsigVersion(store), mark: () => markKeyNames(keyNames, tsigKeyNames(store)) },
    { version: () => incomingVersion(store), mark: () => markKeyNames(secondaryNames, incomingApexes(store)) },
  ]);
  wake();
  const cancel = clock.every(LOOK_MS, wake);
  const allowed = parseCidrSet(settings.transferAllow);
  const transfers = createTransfers({
    store,
    dataDir: settings.dataDir,
    serving,
    vault,
    allowed,
    clock,
    log,
    onTransferred,
  });
  const updates = createForwarder({ store, vault, clock, log, relay });
  const notified = createNotifyReceiver({ store, vault, clock, log, onNotified });
  return {
    keyNames,
    secondaryNames,
    answer: transfers.answer,
    samples: updates.samples,
    answerDeferred: (engine) => (request, transport, address) => {
      const opcode = opcodeOf(request);
      if (opcode === Opcode.update) return updates.answer(request, address);
      if (opcode === Opcode.notify) return notified.answer(request, address);
      return answerSigned({ store, vault, clock, log, answer: engine, udpSize }, request, transport);
    },
    setKeys(text) {
      known = readKeys(text, 'tsig');
    },
    wake,
    async close() {
      cancel();
      notified.close();
      await transfers.close();
    },
  };
}

/** Names that threads know by marks, and a number that changes with them. */
interface MarkedNames {
  version(): number;
  mark(): void;
}

/** Returns what marks the names that have changed. */
function followNames(all: readonly MarkedNames[]): () => void {
  const known = new Map<MarkedNames, number>();
  return () => {
    for (const names of all) {
      const version = names.version();
      if (known.get(names) === version) continue;
      known.set(names, version);
      names.mark();
    }
  };
}

function opcodeOf(request: Uint8Array): number {
  return (request[2]! >>> 3) & 15;
}
