/** Transfers of the DNS process, and answers to queries that engines defer. */
import { createNameMarks, markNames } from '../../answer/name-marks.js';
import type { AnswerDeferred } from '../../answer/transport.js';
import type { Clock } from '../../base/clock.js';
import { parseCidrSet } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import type { CompactAnswerer } from '../../compact/answerer.js';
import type { Settings } from '../../config/schema.js';
import { Opcode } from '../../dns/codes.js';
import { findTsig } from '../../dns/tsig.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { incomingApexes, incomingVersion } from '../../store/secondary/incoming.js';
import { tsigKeyNames, tsigVersion } from '../../store/secondary/tsig-keys.js';
import { createNotifyReceiver } from '../../transfer/in/notified.js';
import { createTransfers, type Transfers } from '../../transfer/out/transfers.js';
import { answerSigned } from '../../transfer/signed-query.js';
import { createForwarder, type Forwarder, type ForwarderOptions } from '../../transfer/update/forward.js';
import type { Vault } from '../../vault/vault.js';

export interface DnsTransfersOptions {
  readonly settings: Settings;
  readonly store: Store;
  readonly serving: ServingSettings;
  readonly udpSize: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens TSIG secrets. */
  readonly vault: Vault;
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
  /** `compact`: answers what needs signatures. */
  answerDeferred(compact: CompactAnswerer): AnswerDeferred;
  /** Something was committed: the names of keys may have changed. */
  wake(): void;
}

/** Milliseconds between two looks at the names of keys, in case a wake-up was lost. */
const LOOK_MS = 5000;

export function createDnsTransfers(options: DnsTransfersOptions): DnsTransfers {
  const { settings, store, serving, udpSize, clock, log, vault, onTransferred, relay, onNotified } = options;
  const keyNames = createNameMarks();
  const secondaryNames = createNameMarks();
  const wake = followNames([
    { version: () => tsigVersion(store), mark: () => markNames(keyNames, tsigKeyNames(store)) },
    { version: () => incomingVersion(store), mark: () => markNames(secondaryNames, incomingApexes(store)) },
  ]);
  wake();
  const cancel = clock.inStep(LOOK_MS, wake);
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
    samples: () => [...updates.samples(), ...transfers.samples()],
    answerDeferred: (compact) => (request, transport, address, port) => {
      const opcode = opcodeOf(request);
      if (opcode === Opcode.update) return updates.answer(request, address);
      if (opcode === Opcode.notify) return notified.answer(request, address);
      if (findTsig(request) === 'none') return compact.answerDeferred(request, transport, address, port);
      return answerSigned({ store, vault, clock, log, answer: compact.answer, udpSize }, request, transport);
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
