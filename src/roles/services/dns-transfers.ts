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
import { tsigKeyNames, tsigVersion } from '../../store/secondary/tsig-keys.js';
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
}

export interface DnsTransfers extends Pick<Transfers, 'answer' | 'close'>, Pick<Forwarder, 'samples'> {
  /** Shared with the engines of all threads. */
  readonly keyNames: SharedArrayBuffer;
  /** `engine`: that of this thread. */
  answerDeferred(engine: Answer): AnswerDeferred;
  /** Takes the keys of TSIG secrets from the admin process. */
  setKeys(text: string): void;
  /** Something was committed: the names of keys may have changed. */
  wake(): void;
}

/** Milliseconds between two looks at the names of keys, in case a wake-up was lost. */
const LOOK_MS = 1000;

export function createDnsTransfers(options: DnsTransfersOptions): DnsTransfers {
  const { settings, store, serving, udpSize, clock, log, askKeys, onTransferred, relay } = options;
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
  let version: number | undefined;
  const wake = (): void => {
    const current = tsigVersion(store);
    if (current === version) return;
    version = current;
    markKeyNames(keyNames, tsigKeyNames(store));
  };
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
  return {
    keyNames,
    answer: transfers.answer,
    samples: updates.samples,
    answerDeferred: (engine) => (request, transport, address) =>
      opcodeOf(request) === Opcode.update
        ? updates.answer(request, address)
        : answerSigned({ store, vault, clock, log, answer: engine, udpSize }, request, transport),
    setKeys(text) {
      known = readKeys(text, 'tsig');
    },
    wake,
    async close() {
      cancel();
      await transfers.close();
    },
  };
}

function opcodeOf(request: Uint8Array): number {
  return (request[2]! >>> 3) & 15;
}
